"""Infilling and SantaCoder runs: which line counts, what the whole program is, what the figures say."""

from __future__ import annotations

import gzip
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest

from codex.engine.mock import MockEngine
from codex.evals.fill import FillOptions, assembled, fill_report, line_end, run_fill
from codex.evals.infilling import exact_line, santacoder_tasks
from codex.evals.journal import Journal, Record
from codex.evals.scoring import Part, Scorer, ScriptCheck
from codex.evals.target import Target
from codex.evals.tasks import FillTask, spread
from codex.pipeline import Pipeline
from codex.serve.rest import create_app
from codex.settings import Settings
from codex.types import EngineRequest


@pytest.mark.parametrize(
    ("answer", "right", "same"),
    [
        ("    return False", "        return False", True),
        ("\n\n  return False  \nx = 1", "return False", True),
        ("return True", "return False", False),
        ("", "return False", False),
        ("  \n ", "", True),
    ],
)
def test_exact_match_is_of_the_first_line_with_text_stripped(answer: str, right: str, same: bool) -> None:
    assert exact_line(answer, right) is same


@pytest.mark.parametrize(
    ("text", "end"), [("", None), ("\n\n", None), ("  a", None), ("a\n", 1), ("\n  a = 1\nb", 8)]
)
def test_a_line_ends_at_its_own_line_break(text: str, end: int | None) -> None:
    assert line_end(text) == end


TASKS = (
    FillTask(
        "line",
        "python",
        "def f(x):\n",
        "    return y\n",
        "    y = x + 1\n",
        (Part("base", ScriptCheck("assert f(1) == 2")),),
    ),
    FillTask(
        "span",
        "python",
        "def f(x):\n    return x",
        "\n",
        " + 1",
        (Part("base", ScriptCheck("assert f(1) == 2")),),
    ),
)


def test_a_line_keeps_its_indentation_and_gets_its_break() -> None:
    line, span = TASKS
    assert assembled(line, "\n    y = x + 1", one_line=True) == "def f(x):\n    y = x + 1\n    return y\n"
    assert assembled(span, " + 1", one_line=True) == "def f(x):\n    return x + 1\n"
    assert assembled(line, line.middle, one_line=False) == "def f(x):\n    y = x + 1\n    return y\n"


@asynccontextmanager
async def served(engine: MockEngine) -> AsyncGenerator[Target, None]:
    await engine.start()
    transport = httpx2.ASGITransport(create_app(Pipeline(engine, Settings()), Settings()))
    async with Target("http://codex.test", transport=transport, retries=0) as target:
        yield target
    await engine.stop()


async def _run(engine: MockEngine, path: Path, options: FillOptions) -> dict[str, Record]:
    async with served(engine) as target:
        with Journal(path, {}, resume=False) as journal:
            return await run_fill(TASKS, target, Scorer(), journal, options)


@pytest.mark.anyio
async def test_filled_gaps_are_judged_by_tests_and_by_their_line(tmp_path: Path) -> None:
    def script(request: EngineRequest) -> str:
        asked = bytes(token for token in request.tokens if token < 256).decode()
        return " + 2 - 1" if "return x" in asked else "    y = x + 1\n    z = 0\n"

    engine = MockEngine(script)
    records = await _run(engine, tmp_path / "a.jsonl", FillOptions(one_line=True, cleanup=False))
    report = fill_report("infilling", TASKS, records, {}, 1.0)
    assert (report.figures["pass_at_1"], report.figures["exact_match"]) == (1.0, 0.5)
    assert records["line"]["text"] == "    y = x + 1"
    assert report.tables[0].rows == (("python", 2, 1.0, 0.5),)


@pytest.mark.anyio
async def test_clean_up_is_asked_for_or_not(tmp_path: Path) -> None:
    answer = "    y = x + 1\n    return y\n    return y\n"
    texts = {}
    for cleanup in (True, False):
        options = FillOptions(one_line=False, cleanup=cleanup)
        records = await _run(MockEngine(answer), tmp_path / f"{cleanup}.jsonl", options)
        texts[cleanup] = records["line"]["text"]
    assert texts[False] == answer
    assert len(texts[True]) < len(answer)


def test_languages_of_santacoder_can_be_chosen(tmp_path: Path) -> None:
    rows = [
        {"name": str(number), "language": language, "prompt": "a", "suffix": "b", "canonical_solution": "c"}
        for number, language in enumerate(("py", "js", "py"))
    ]
    path = tmp_path / "own.jsonl.gz"
    path.write_bytes(gzip.compress("\n".join(map(json.dumps, rows)).encode()))
    assert [task.language for task in santacoder_tasks(str(path), ("py",))[1]] == ["python", "python"]
    assert len(santacoder_tasks(str(path))[1]) == 3


def test_a_limit_spreads_over_all_tasks() -> None:
    assert spread(range(10), 4) == (0, 2, 5, 7)
    assert spread(range(3), 5) == spread(range(3), None) == (0, 1, 2)
