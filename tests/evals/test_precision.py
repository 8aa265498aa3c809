"""Precisions and wordings side by side: what is asked, how runs are paired, what the table says."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest
from click.testing import CliRunner, Result

from codex.cli.evals.precision import precision
from codex.engine.mock import SPECIAL_TOKENS, ByteTokenizer, MockEngine
from codex.errors import EvaluationError
from codex.evals.codegen import QUESTION, SYSTEM
from codex.evals.precision import Condition, Measured, Speed, conditions_of, measure_speed, precision_report
from codex.evals.precision.reporting import paired
from codex.evals.precision.wordings import Reworded, Wording, reworded
from codex.evals.report import Case, Measure, Report
from codex.pipeline import Pipeline
from codex.serve.rest import create_app
from codex.settings import Settings
from codex.types import ChatInput, Message, TextInput

CODE = 'def add(a, b):\n    """Sum."""'
ASKED = ChatInput((Message("system", SYSTEM), Message("user", QUESTION.format(prompt=CODE))))


def test_conditions_change_one_thing_at_a_time() -> None:
    found = conditions_of(("disable", "int8", "int4"), ("begun", "evalplus"))
    assert [(condition.quant, condition.wording) for condition in found] == [
        ("disable", "begun"),
        ("disable", "evalplus"),
        ("int8", "begun"),
        ("int4", "begun"),
    ]
    assert [condition.label for condition in found][:2] == ["disable", "disable, evalplus prompt"]


def test_no_system_leaves_the_question_alone() -> None:
    assert reworded(ASKED, "no-system", None) == ChatInput(ASKED.messages[1:])
    assert reworded(ASKED, "qwen", None) is ASKED


def test_evalplus_opens_the_answer_inside_its_turn() -> None:
    found = reworded(ASKED, "evalplus", ByteTokenizer())
    assert isinstance(found, TextInput)
    names = {number: name for name, number in SPECIAL_TOKENS.items()}
    assert not isinstance(found.text, str)
    text = "".join(names.get(token) or chr(token) for token in found.text)
    assert text.startswith("<|im_start|>system\nYou are Qwen")
    assert f"markdown code block:\n```\n{CODE}\n```\n<|im_end|>\n<|im_start|>assistant\nBelow is a" in text
    assert text.endswith("passes corresponding tests:\n```python\n")


def test_evalplus_needs_code_and_a_tokenizer() -> None:
    with pytest.raises(EvaluationError, match="tokenizer"):
        reworded(ASKED, "evalplus", None)
    with pytest.raises(EvaluationError, match="Python code"):
        reworded(ChatInput((Message("user", "hello"),)), "evalplus", ByteTokenizer())


@asynccontextmanager
async def served(engine: MockEngine, wording: Wording) -> AsyncGenerator[Reworded, None]:
    await engine.start()
    app = create_app(Pipeline(engine, Settings()), Settings())
    target = Reworded(
        "http://codex.test", wording, tokenizer=ByteTokenizer(), transport=httpx2.ASGITransport(app)
    )
    async with target:
        yield target
    await engine.stop()


@pytest.mark.anyio
async def test_what_the_wording_opened_belongs_to_the_answer() -> None:
    seen: list[str] = []

    def note(text: str) -> bool:
        seen.append(text)
        return False

    async with served(MockEngine("def add(a, b):\n    return a + b\n```\n"), "evalplus") as target:
        answer = await target.complete(ASKED, until=note)
    assert answer.text == "```python\ndef add(a, b):\n    return a + b\n```\n"
    assert seen[0] == "```python\nd"


@pytest.mark.anyio
async def test_the_question_reaches_the_engine_in_its_own_wording() -> None:
    engine = MockEngine("x")
    for wording in ("qwen", "no-system"):
        async with served(engine, wording) as target:
            await target.complete(ASKED)
    first, second = (bytes(token for token in request.tokens if token < 256) for request in engine.seen)
    assert SYSTEM.encode() in first
    assert SYSTEM.encode() not in second
    assert CODE.encode() in second


@pytest.mark.anyio
async def test_speed_counts_the_tokens_of_unseen_prompts() -> None:
    engine = MockEngine("y" * 200, step_s=0.001, prefill_s=0.01)
    async with served(engine, "qwen") as target:
        speed = await measure_speed(target, repeats=2)
    assert len({request.tokens[:200] for request in engine.seen}) == 3
    assert [request.sampling.max_tokens for request in engine.seen] == [8, 64, 64]
    assert speed.prefill_tokens_per_s is not None
    assert 0 < speed.prefill_tokens_per_s < len(engine.seen[1].tokens) / 0.01
    assert speed.decode_tokens_per_s is not None
    assert speed.decode_tokens_per_s > 0


def _report(passed: Sequence[int], *, first: int = 0) -> Report:
    cases = tuple(
        Case(f"task/{first + number}", {"base": float(value)}) for number, value in enumerate(passed)
    )
    figures = {"pass_at_1": sum(passed) / len(passed), "pass_at_1_as_it_stands": 0.25}
    return Report("humaneval", figures, {}, cases, (Measure("pass_at_1", "binary", "base"),))


def test_runs_are_paired_task_by_task() -> None:
    pair = paired(_report([1, 1, 1, 1, 0, 0, 0, 1]), _report([0, 0, 0, 1, 1, 0, 0, 1]), "pass_at_1")
    assert (pair.lost, pair.gained, pair.same_outcome) == (3, 1, 0.5)
    assert pair.compared.difference.value == -0.25
    assert pair.compared.difference.p_value == 0.625
    assert pair.compared.difference.interval.low < -0.25 < pair.compared.difference.interval.high


def test_other_tasks_are_no_pair() -> None:
    with pytest.raises(EvaluationError, match="no case in common"):
        paired(_report([1, 0]), _report([1, 0], first=7), "pass_at_1")


def test_the_table_pairs_every_condition_with_the_first() -> None:
    speed = Speed(190.04, None)
    measured = [
        Measured(Condition("disable"), _report([1, 1, 0, 0]), speed, 2 << 30, 900 << 20),
        Measured(Condition("int8"), _report([1, 0, 0, 0]), speed, None, 450 << 20),
    ]
    report = precision_report(measured, "pass_at_1", {})
    (table,) = report.tables
    first, second = (dict(zip(table.columns, row, strict=True)) for row in table.rows)
    assert (first["condition"], first["lost"], first["peak MiB"], first["p (McNemar)"]) == (
        "disable",
        0,
        2048.0,
        1.0,
    )
    assert (second["lost"], second["gained"], second["same outcome"]) == (1, 0, 0.75)
    assert (second["prefill tok/s"], second["decode tok/s"], second["weights MiB"]) == (190.0, None, 450.0)
    conditions = report.figures["conditions"]
    assert isinstance(conditions, dict)
    assert conditions["int8"]["difference"]["value"] == -0.25
    assert conditions["int8"]["pass_at_1"] == 0.25
    assert [case.id for case in report.cases][::4] == ["disable/task/0", "int8/task/0"]


def _run(*arguments: str) -> Result:
    return CliRunner().invoke(precision, ["--backend", "mock", *arguments], catch_exceptions=False)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_the_command_serves_each_precision_and_resumes(tmp_path: Path) -> None:
    out, answers = tmp_path / "a.json", tmp_path / "answers.jsonl"
    arguments = ["--limit", "2", "--mode", "int8", "--mode", "int4", "--ablate", "--json", str(out)]
    result = _run(*arguments, "--answers", str(answers))
    assert result.exit_code == 0, result.output
    body = json.loads(out.read_text())
    assert list(body["conditions"]) == [
        "int8",
        "int8, qwen prompt",
        "int8, no-system prompt",
        "int8, evalplus prompt",
        "int8, completion prompt",
        "int4",
    ]
    assert body["conditions"]["int4"]["same_outcome"] == 1.0
    assert body["conditions"]["int8"]["peak_bytes"] > 10 << 20
    assert body["config"]["data"]["sha256"].startswith("b796127e")
    kept = tmp_path / "answers-int4-begun.jsonl"
    kept.write_text(kept.read_text().replace('"outcome": "failed"', '"outcome": "passed"'))
    assert _run(*arguments, "--answers", str(answers), "--resume").exit_code == 0
    again = json.loads(out.read_text())["conditions"]
    assert (again["int8"]["pass_at_1"], again["int4"]["pass_at_1"], again["int4"]["gained"]) == (0.0, 1.0, 2)


@pytest.mark.data
def test_gaps_are_judged_by_exact_match(tmp_path: Path, data_dir: Path) -> None:
    out = tmp_path / "a.json"
    result = _run(
        "--dataset",
        "santacoder",
        "--limit",
        "2",
        "--data",
        str(data_dir),
        "--mode",
        "int8",
        "--json",
        str(out),
    )
    assert result.exit_code == 0, result.output
    assert json.loads(out.read_text())["measure"] == "exact_match"
