"""Writes functions from their descriptions and tests them: HumanEval and MBPP, base and plus, pass@k.

Reads top to bottom: options, prompts, one case, the run, its figures.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import anyio
import anyio.to_thread

from codex.errors import EvaluationError
from codex.evals.begun import begun_chat
from codex.evals.extract import CodeEnd, as_it_stands, begun_end, continuation_end, continued, program
from codex.evals.journal import Journal, Record
from codex.evals.report import Case, JsonValue, Measure, Plot, Report, Series
from codex.evals.run import Tick, run_cases
from codex.evals.scoring import PartScore, Scorer
from codex.evals.stats import pass_at_k, share_interval
from codex.evals.target import Target
from codex.evals.tasks import CodeTask
from codex.evals.wire import Extras
from codex.types import ChatInput, Message, Sampling, TextInput, Tokenizer

PromptStyle = Literal["begun", "chat", "completion"]
"""`begun`: a conversation whose answer starts with the function's head, so that none of it is said twice."""

SYSTEM = "You are an intelligent programming assistant to produce Python algorithmic solutions"
QUESTION = "Can you complete the following Python function?\n```python\n{prompt}\n```\n"
"""Both in the words of Qwen2.5-Coder's own harness (qwencoder-eval/instruct/eval_plus/model.py)."""
BEGUN_QUESTION = "Can you complete the following Python function?\n"
FENCE = "```python\n"


@dataclass(frozen=True, slots=True)
class CodegenOptions:
    """`samples` answers a task, alike when `temperature` is 0. `request_s` bounds one answer."""

    prompt: PromptStyle = "chat"
    samples: int = 1
    temperature: float = 0.0
    top_p: float = 1.0
    max_tokens: int = 512
    seed: int = 0
    concurrency: int = 16
    scorers: int = 2
    request_s: float = 600.0


def answer_settings(name: str, options: CodegenOptions) -> dict[str, JsonValue]:
    """What changes an answer; how many run at a time does not belong here."""
    chosen = asdict(options)
    for irrelevant in ("concurrency", "scorers", "request_s"):
        del chosen[irrelevant]
    return {"data_set": name, **chosen}


def prompt_of(
    task: CodeTask, style: PromptStyle, tokenizer: Tokenizer | None = None
) -> ChatInput | TextInput:
    """What is sent. `tokenizer` is our own server's, for `begun`; None there means a peer."""
    if style == "completion":
        return TextInput(task.prompt)
    question = QUESTION.format(prompt=task.prompt.strip())
    if style == "chat":
        return ChatInput((Message("system", SYSTEM), Message("user", question)))
    if _has_head(task):
        return begun_chat(SYSTEM, BEGUN_QUESTION, FENCE + task.prompt, tokenizer)
    return begun_chat(SYSTEM, question, FENCE, tokenizer)


def _has_head(task: CodeTask) -> bool:
    """The prompt ends inside the function (HumanEval), not with a description of it (MBPP)."""
    return f"def {task.entry_point}" in task.prompt


def _end_of(task: CodeTask, style: PromptStyle) -> Callable[[str], int | None]:
    """A continuation of a function ends where the function is left, everything else where its code ends."""
    if style == "chat" or not _has_head(task):
        return CodeEnd(task.entry_point)
    return begun_end if style == "begun" else continuation_end


def _programs(task: CodeTask, style: PromptStyle, text: str) -> tuple[str, str]:
    """The answer as a program: structural extraction, and as it stands."""
    if style == "completion" or (style == "begun" and _has_head(task)):
        return continued(task.prompt, text, task.entry_point), task.prompt + text
    return program(text, task.entry_point, task.prompt), as_it_stands(text)


async def run_codegen(
    tasks: Sequence[CodeTask],
    target: Target,
    scorer: Scorer,
    journal: Journal,
    options: CodegenOptions,
    *,
    tokenizer: Tokenizer | None = None,
    tick: Tick = lambda: None,
) -> dict[str, Record]:
    """Records of all answers by `task#sample`. Longest prompts go first, to keep the end busy.

    `tokenizer` is our own server's and needed for `begun` there.

    Raises:
        ClientError: the server refused for good. What came before is in the journal.
        EvaluationError: `begun` without the tokenizer it needs.
    """
    if options.prompt == "begun" and target.fim == "suffix" and tokenizer is None:
        raise EvaluationError("our own server needs token ids for a begun answer: give its tokenizer")
    by_key = {f"{task.id}#{sample}": (task, sample) for task in tasks for sample in range(options.samples)}
    scoring = anyio.CapacityLimiter(options.scorers)
    asking = anyio.CapacityLimiter(options.concurrency)

    async def work(key: str) -> Record:
        task, sample = by_key[key]
        async with asking:
            prompt = prompt_of(task, options.prompt, tokenizer)
            record = await _ask(prompt, _end_of(task, options.prompt), target, options, sample)
        structural, standing = _programs(task, options.prompt, record["text"])
        scores = await anyio.to_thread.run_sync(scorer.score, structural, task.parts, limiter=scoring)
        plain = await anyio.to_thread.run_sync(scorer.score, standing, task.parts[:1], limiter=scoring)
        return record | {"scores": [asdict(score) for score in scores], "as_it_stands": plain[0].passed}

    keys = sorted(by_key, key=lambda key: (-len(by_key[key][0].prompt), key))
    # A few more workers than places at the server: an answer that is being scored must not hold one.
    workers = options.concurrency + 2 * options.scorers
    return await run_cases(keys, work, journal, concurrency=workers, tick=tick)


async def _ask(
    prompt: ChatInput | TextInput,
    end: Callable[[str], int | None],
    target: Target,
    options: CodegenOptions,
    sample: int,
) -> Record:
    sampling = Sampling(
        max_tokens=options.max_tokens,
        temperature=options.temperature,
        top_p=options.top_p,
        seed=options.seed + sample,
    )
    answer = await target.complete(
        prompt,
        sampling,
        until=lambda text: end(text) is not None,
        extras=Extras(language="python", timeout_s=options.request_s),
    )
    kept = end(answer.text)
    return {
        "text": answer.text if kept is None else answer.text[:kept],
        "finish": answer.finish_reason,
        "ttft_s": answer.ttft_s,
        "total_s": answer.total_s,
    }


def codegen_report(
    kind: str,
    tasks: Sequence[CodeTask],
    records: dict[str, Record],
    options: CodegenOptions,
    config: dict[str, JsonValue],
    seconds: float,
) -> Report:
    """Figures: `pass_at_1` (base tests), `pass_at_1_plus`, more k's when there are samples for them."""
    cases = tuple(_case(task, records, options.samples) for task in tasks)
    names = ["base", "plus"] if any("plus" in case.values for case in cases) else ["base"]
    figures: dict[str, JsonValue] = {}
    for name in names:
        figures |= _passes(cases, name, options.samples)
    standing = [case.values["as_it_stands"] for case in cases]
    figures["pass_at_1_as_it_stands"] = sum(standing) / len(standing)
    figures |= {"tasks": len(tasks), "seconds": round(seconds, 1), "prompt_style": options.prompt}
    figures["finish_reasons"] = _finish_reasons(records)
    binary = options.samples == 1
    measures = [Measure(_figure("pass_at_1", name), "binary" if binary else "mean", name) for name in names]
    measures.append(Measure("pass_at_1_as_it_stands", "binary" if binary else "mean", "as_it_stands"))
    times = tuple(float(record["total_s"]) for record in records.values())
    plot = Plot("Time of one answer", "histogram", (Series("answers", (), times),), "seconds", "answers")
    return Report(kind, figures, config, cases, tuple(measures), plots=(plot,))


def _figure(name: str, part: str) -> str:
    return name if part == "base" else f"{name}_{part}"


def _passes(cases: Sequence[Case], part: str, samples: int) -> dict[str, JsonValue]:
    """Every k of 1, 5, 10, 100 that there are samples for; an interval for k = 1 over tasks."""
    correct = [round(case.values[part] * samples) for case in cases]
    found: dict[str, JsonValue] = {
        _figure(f"pass_at_{k}", part): sum(pass_at_k(samples, passed, k) for passed in correct) / len(cases)
        for k in (1, 5, 10, 100)
        if k <= samples
    }
    if samples == 1:
        found[_figure("pass_at_1_interval", part)] = asdict(share_interval(sum(correct), len(cases)))
        found[_figure("passed", part)] = sum(correct)
    return found


def _case(task: CodeTask, records: dict[str, Record], samples: int) -> Case:
    """Values are shares of the samples that passed; plus counts only where base passed too."""
    own = [records[f"{task.id}#{sample}"] for sample in range(samples)]
    values: dict[str, float] = {"as_it_stands": _share([record["as_it_stands"] for record in own])}
    for number, part in enumerate(task.parts):
        values[part.name] = _share([_passed(record, number) for record in own])
    first = [PartScore(**score) for score in own[0]["scores"]]
    failed = next((score for score in first if not score.passed), None)
    note = f"{failed.part} {failed.outcome}: {failed.detail}" if failed else ""
    return Case(task.id, values, note=note)


def _passed(record: Record, number: int) -> bool:
    return all(score["outcome"] == "passed" for score in record["scores"][: number + 1])


def _share(passed: Sequence[bool]) -> float:
    return sum(passed) / len(passed)


def _finish_reasons(records: dict[str, Record]) -> dict[str, Any]:
    counts: dict[str, Any] = {}
    for record in records.values():
        reason = str(record["finish"])
        counts[reason] = counts.get(reason, 0) + 1
    return counts
