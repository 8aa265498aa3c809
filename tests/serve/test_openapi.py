"""The server keeps to its own OpenAPI document: random requests, valid and not, find no difference.

JSON Schema cannot say that two fields contradict each other, that a token id is in the vocabulary or that a
prompt fits the window. For those, 400 is a right answer to a valid body of a generating operation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import anyio
import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.config import SchemathesisConfig

from codex.engine.mock import MockEngine
from codex.pipeline import Pipeline
from codex.serve.rest import create_app
from codex.settings import Settings

CONFIG = SchemathesisConfig.from_dict(
    {
        "checks": {"positive_data_acceptance": {"expected-statuses": ["2xx", 400, 404, 408]}},
    }
)
GENERATING = ("/v1/completions", "/v1/chat/completions")
answered: Counter[tuple[str, int]] = Counter()


def application() -> object:
    engine = MockEngine("x = 1\n")
    anyio.run(engine.start)
    return create_app(Pipeline(engine, Settings()), Settings())


schema = schemathesis.openapi.from_asgi("/openapi.json", application(), config=CONFIG)


@pytest.fixture(scope="module", autouse=True)
def enough_of_each_kind() -> Iterator[None]:
    """Both kinds of answer were seen often on each generating operation that was tested."""
    answered.clear()
    yield
    for path in GENERATING:
        total = sum(number for (seen, _), number in answered.items() if seen == path)
        assert total == 0 or (total >= 250 and answered[path, 200] >= 40 and answered[path, 400] >= 40)


@schema.parametrize()
@settings(
    max_examples=120,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
def test_no_request_finds_a_difference(case: schemathesis.Case[Any]) -> None:
    body: Any = case.body
    name = body.get("model") if isinstance(body, dict) else None
    if isinstance(name, str) and len(name) < 100:
        body["model"] = "codex"  # a random name would end most requests at 404
    response = case.call_and_validate()
    answered[case.path, response.status_code] += 1
    assert response.status_code < 500
