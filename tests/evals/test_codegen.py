"""A whole HumanEval run through our own server on the mock engine: prompts, stops, scores, figures."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import httpx2
import pytest

from codex.engine.mock import ByteTokenizer, MockEngine
from codex.errors import EvaluationError
from codex.evals.codegen import QUESTION, CodegenOptions, codegen_report, prompt_of, run_codegen
from codex.evals.humaneval import humaneval_tasks
from codex.evals.journal import Journal, Record
from codex.evals.scoring import Part, Scorer, ScriptCheck
from codex.evals.target import Target
from codex.evals.tasks import CodeTask, spread
from codex.pipeline import Pipeline
from codex.serve.rest import create_app
from codex.settings import Settings
from codex.types import ChatInput, EngineRequest, TextInput

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def served(engine: MockEngine) -> AsyncGenerator[Target, None]:
    """Our own server in this process, seen through its interface."""
    await engine.start()
    transport = httpx2.ASGITransport(create_app(Pipeline(engine, Settings()), Settings()))
    async with Target("http://codex.test", transport=transport, retries=0) as target:
        yield target
    await engine.stop()


def _task(name: str, body: str, test: str) -> CodeTask:
    prompt = f'from typing import List\n\n\ndef {name}(a: List[int]) -> int:\n    """Do {name}."""\n'
    return CodeTask(f"T/{name}", name, prompt, prompt + body, (Part("base", ScriptCheck(test)),))


TASKS = (
    _task("total", "    return sum(a)\n", "assert total([1, 2]) == 3"),
    _task("most", "    return max(a)\n", "assert most([1, 2]) == 2"),
    _task("count", "    return len(a)\n", "assert count([1, 2]) == 2"),
)


def _asked(request: EngineRequest) -> str:
    return bytes(token for token in request.tokens if token < 256).decode()


def _solves(tasks: Sequence[CodeTask], wrong: frozenset[str] = frozenset()) -> MockEngine:
    """Answers in chat with the reference solution, and with nonsense for `wrong` ones."""

    def script(request: EngineRequest) -> str:
        task = next(task for task in tasks if task.prompt.strip() in _asked(request))
        code = f"def {task.entry_point}(*_):\n    return None\n" if task.id in wrong else task.reference
        return (
            f"Sure!\n```python\n{code}\nprint({task.entry_point}([1, 2]))\n```\nThis is how it works. "
            + "x" * 2000
        )

    return MockEngine(script)


async def _run(
    engine: MockEngine,
    tasks: Sequence[CodeTask],
    path: Path,
    options: CodegenOptions,
    *,
    resume: bool = False,
) -> dict[str, Record]:
    async with served(engine) as target:
        with Journal(path, {}, resume=resume) as journal:
            return await run_codegen(tasks, target, Scorer(), journal, options)


OPTIONS = CodegenOptions(prompt="chat", concurrency=4, max_tokens=4000)


async def test_right_answers_pass_and_wrong_ones_fail(tmp_path: Path) -> None:
    engine = _solves(TASKS, wrong=frozenset({"T/most"}))
    records = await _run(engine, TASKS, tmp_path / "a.jsonl", OPTIONS)
    report = codegen_report("humaneval", TASKS, records, OPTIONS, {}, 1.0)
    assert report.figures["pass_at_1"] == pytest.approx(2 / 3)
    assert {case.id: case.values["base"] for case in report.cases} == {
        "T/total": 1,
        "T/most": 0,
        "T/count": 1,
    }
    assert next(case for case in report.cases if case.id == "T/most").note.startswith(
        "base failed: AssertionError"
    )


async def test_an_answer_is_left_when_its_code_is_complete(tmp_path: Path) -> None:
    engine = _solves(TASKS)
    records = await _run(engine, TASKS, tmp_path / "a.jsonl", OPTIONS)
    assert {record["finish"] for record in records.values()} <= {"client_stop", "stop"}
    assert all(record["text"].rstrip().endswith(")") for record in records.values())
    assert not any("works" in record["text"] or "print" in record["text"] for record in records.values())


async def test_as_it_stands_needs_the_imports_that_structural_extraction_keeps(tmp_path: Path) -> None:
    def script(_: EngineRequest) -> str:
        return "```python\ndef total(a: List[int]) -> int:\n    return sum(a)\n```"

    records = await _run(MockEngine(script), TASKS[:1], tmp_path / "a.jsonl", OPTIONS)
    report = codegen_report("humaneval", TASKS[:1], records, OPTIONS, {}, 1.0)
    assert (report.figures["pass_at_1"], report.figures["pass_at_1_as_it_stands"]) == (1.0, 0.0)


async def test_raw_continuations_are_cut_where_the_function_ends(tmp_path: Path) -> None:
    options = replace(OPTIONS, prompt="completion")
    engine = MockEngine("    return sum(a)\n\n\ndef total(a):\n    return 0\n" + "# more\n" * 400)
    records = await _run(engine, TASKS[:1], tmp_path / "a.jsonl", options)
    assert records["T/total#0"]["text"] == "    return sum(a)\n\n\n"
    assert codegen_report("humaneval", TASKS[:1], records, options, {}, 1.0).figures["pass_at_1"] == 1.0
    assert _asked(engine.seen[0]) == TASKS[0].prompt


async def test_a_begun_answer_goes_on_where_our_part_of_it_ends(tmp_path: Path) -> None:
    engine = MockEngine("    return sum(a)\n```\nThis function adds." + " x" * 2000)
    tokenizer = ByteTokenizer()
    async with served(engine) as target:
        with Journal(tmp_path / "a.jsonl", {}, resume=False) as journal:
            options = replace(OPTIONS, prompt="begun")
            records = await run_codegen(TASKS[:1], target, Scorer(), journal, options, tokenizer=tokenizer)
            with pytest.raises(EvaluationError, match="tokenizer"):
                await run_codegen(TASKS[:1], target, Scorer(), journal, options)
    assert records["T/total#0"]["text"] == "    return sum(a)\n"
    assert codegen_report("humaneval", TASKS[:1], records, options, {}, 1.0).figures["pass_at_1"] == 1.0
    (seen,) = engine.seen
    assert seen.tokens[0] == tokenizer.special("<|im_start|>")
    assert seen.tokens.count(tokenizer.special("<|im_end|>")) == 2
    assert _asked(seen).endswith("assistant\n```python\n" + TASKS[0].prompt)


async def test_a_begun_answer_is_text_for_a_peer() -> None:
    prompt = prompt_of(TASKS[0], "begun")
    assert isinstance(prompt, TextInput)
    assert isinstance(prompt.text, str)
    assert prompt.text.startswith("<|im_start|>system\n")
    assert prompt.text.endswith("<|im_end|>\n<|im_start|>assistant\n```python\n" + TASKS[0].prompt)


async def test_samples_have_seeds_of_their_own_and_give_pass_at_k(tmp_path: Path) -> None:
    def script(request: EngineRequest) -> str:
        assert request.sampling.seed is not None
        return f"```python\ndef total(a):\n    return sum(a) * {int(request.sampling.seed < 2)}\n```"

    options = replace(OPTIONS, samples=5, temperature=0.8)
    engine = MockEngine(script)
    records = await _run(engine, TASKS[:1], tmp_path / "a.jsonl", options)
    report = codegen_report("humaneval", TASKS[:1], records, options, {}, 1.0)
    assert sorted(request.sampling.seed or 0 for request in engine.seen) == [0, 1, 2, 3, 4]
    assert report.figures["pass_at_1"] == pytest.approx(0.4)
    assert report.figures["pass_at_5"] == 1.0


async def test_a_second_run_and_a_resumed_run_give_the_same(tmp_path: Path) -> None:
    first = await _run(_solves(TASKS), TASKS, tmp_path / "a.jsonl", OPTIONS)
    second = await _run(_solves(TASKS), TASKS, tmp_path / "b.jsonl", OPTIONS)
    lines = (tmp_path / "a.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "c.jsonl").write_text("".join(lines[:2]))
    engine = _solves(TASKS)
    resumed = await _run(engine, TASKS, tmp_path / "c.jsonl", OPTIONS, resume=True)
    assert len(engine.seen) == len(TASKS) - 1

    def answers(records: dict[str, Record]) -> list[tuple[str, str, object]]:
        return [(key, record["text"], record["scores"]) for key, record in records.items()]

    assert answers(first) == answers(second) == answers(resumed)


async def test_the_prompt_is_that_of_qwens_harness() -> None:
    prompt = prompt_of(TASKS[0], "chat")
    assert isinstance(prompt, ChatInput)
    assert [message.role for message in prompt.messages] == ["system", "user"]
    assert prompt.messages[1].content == QUESTION.format(prompt=TASKS[0].prompt.strip())


async def test_humaneval_of_the_package_runs_whole(tmp_path: Path) -> None:
    """The real tasks, a few of them, by the reference solutions."""
    tasks = spread(humaneval_tasks()[1], 6)
    records = await _run(_solves(tasks), tasks, tmp_path / "a.jsonl", OPTIONS)
    assert len(tasks) == 6
    assert codegen_report("humaneval", tasks, records, OPTIONS, {}, 1.0).figures["pass_at_1"] == 1.0
