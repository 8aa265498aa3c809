"""No byte of a prompt or an answer is found in anything the server writes beside the answer itself."""

from __future__ import annotations

import io
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import anyio
import pytest

from codex.engine.mock import MockEngine
from codex.errors import EngineCrashed
from codex.settings import Settings
from codex.types import EngineChunk, EngineRequest

pytestmark = pytest.mark.anyio

OnPort = Callable[..., AbstractAsyncContextManager[Any]]
Eventually = Callable[[Callable[[], bool]], Awaitable[None]]
MARK = "PLANTED-c0ffee"


class Moody(MockEngine):
    """Echoes its prompt, fails with it before the first token or in the middle, or stalls."""

    async def generate(self, request: EngineRequest) -> AsyncGenerator[EngineChunk, None]:
        text = bytes(token for token in request.tokens if token < 256).decode()
        if "fail-early" in text:
            raise ValueError(text)
        for byte in text.encode():
            yield EngineChunk((byte,))
            if "fail-late" in text:
                raise KeyError(text)
            if "crash" in text:
                raise EngineCrashed("the engine died")
            if "stall" in text:
                await anyio.sleep_forever()


REQUESTS: list[tuple[str, Any]] = [
    ("/v1/completions", {"prompt": MARK, "echo": True}),
    ("/v1/completions", {"prompt": MARK, "suffix": MARK, "path": MARK, "repository": MARK, "language": MARK}),
    ("/v1/completions", {"prompt": f"{MARK} fail-early", "user": MARK}),
    ("/v1/completions", {"prompt": f"{MARK} fail-late"}),
    ("/v1/completions", {"prompt": f"{MARK} fail-late", "stream": True}),
    ("/v1/completions", {"prompt": f"{MARK} crash", "stream": True, "n": 2}),
    ("/v1/completions", {"prompt": {MARK: MARK}}),
    ("/v1/completions", {"prompt": MARK, "temperature": MARK, MARK: MARK}),
    ("/v1/completions", {"prompt": MARK, "stop": [MARK, {"x": MARK}]}),
    ("/v1/completions", {"prompt": MARK * 10_000}),
    ("/v1/completions", {"prompt": MARK, "model": MARK}),
    ("/v1/chat/completions", {"messages": [{"role": "user", "content": MARK}]}),
    ("/v1/chat/completions", {"messages": [{"role": MARK, "content": MARK}], "tools": [MARK]}),
    (f"/v1/{MARK}?{MARK}={MARK}", {}),
]


async def test_a_planted_text_is_in_no_log_and_no_metric(
    live: OnPort, eventually: Eventually, log: io.StringIO, capfd: pytest.CaptureFixture[str]
) -> None:
    async with live(Moody(), Settings(log_level="debug")) as running:
        client = running.client
        for path, body in REQUESTS:
            reply = await client.post(path, json=body, headers={"x-request-id": "r", "x-note": MARK})
            if reply.status_code >= 400:
                assert MARK not in reply.text
        await client.get(f"/v1/models/{MARK}")
        await client.post(
            "/v1/completions", content=f'{{"prompt": "{MARK}', headers={"content-type": "application/json"}
        )
        await client.post("/v1/completions", content=MARK, headers={"content-type": MARK})
        async with client.stream(
            "POST", "/v1/completions", json={"prompt": f"{MARK} stall", "stream": True}
        ) as reply:
            assert reply.status_code == 200
        await eventually(lambda: running.pipeline.admission.running == 0)
        metrics = (await client.get("/metrics")).text
    lines = [json.loads(line) for line in log.getvalue().splitlines()]
    requests = [line for line in lines if line["event"] in ("request", "refused")]
    assert len(requests) == len(REQUESTS) + 4
    assert sum(line["event"] == "answer failed" for line in lines) == 1
    assert sum(line["event"] == "request failed" for line in lines) == 2
    written = capfd.readouterr()
    for place in (log.getvalue(), metrics, written.out, written.err):
        assert MARK not in place
        assert "c0ffee" not in place
