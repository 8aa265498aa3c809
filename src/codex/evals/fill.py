"""Fills in gaps: HumanEval-infilling by tests, SantaCoder FIM by exact match of the line.

Reads top to bottom: options, one case, the run, its figures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import anyio
import anyio.to_thread

from codex.evals.infilling import exact_line
from codex.evals.journal import Journal, Record
from codex.evals.report import Case, JsonValue, Measure, Plot, Report, Series, Table
from codex.evals.run import Tick, run_cases
from codex.evals.scoring import Scorer
from codex.evals.stats import share_interval
from codex.evals.target import Target
from codex.evals.tasks import FillTask
from codex.evals.wire import Extras
from codex.types import FimInput, Sampling


@dataclass(frozen=True, slots=True)
class FillOptions:
    """`cleanup` asks our own server for its answer passes. `one_line` keeps the first line with text."""

    one_line: bool
    cleanup: bool = True
    max_tokens: int = 64
    concurrency: int = 16
    scorers: int = 2
    request_s: float = 600.0


def answer_settings(name: str, options: FillOptions) -> dict[str, JsonValue]:
    """What changes an answer; how many run at a time does not belong here."""
    chosen = asdict(options)
    for irrelevant in ("concurrency", "scorers", "request_s"):
        del chosen[irrelevant]
    return {"data_set": name, **chosen}


def line_end(text: str) -> int | None:
    """Where the first line that is not empty ends, its line break not counted; None while it goes on."""
    start = len(text) - len(text.lstrip())
    found = text.find("\n", start)
    return None if found < 0 or start == len(text) else found


def assembled(task: FillTask, answer: str, *, one_line: bool) -> str:
    """The whole program. A line keeps its indentation and gets the line break that the gap had."""
    if one_line and task.middle.endswith("\n"):
        answer = answer.lstrip("\n") + "\n"
    return task.prefix + answer + task.suffix


async def run_fill(
    tasks: Sequence[FillTask],
    target: Target,
    scorer: Scorer | None,
    journal: Journal,
    options: FillOptions,
    *,
    tick: Tick = lambda: None,
) -> dict[str, Record]:
    """Records by task id. Tasks with tests need a `scorer`.

    Raises:
        ClientError: the server refused for good. What came before is in the journal.
    """
    by_id = {task.id: task for task in tasks}
    scoring = anyio.CapacityLimiter(options.scorers)
    asking = anyio.CapacityLimiter(options.concurrency)

    async def work(key: str) -> Record:
        task = by_id[key]
        async with asking:
            record = await _ask(task, target, options)
        if scorer is None or not task.parts:
            return record
        whole = assembled(task, record["text"], one_line=options.one_line)
        scores = await anyio.to_thread.run_sync(scorer.score, whole, task.parts, limiter=scoring)
        return record | {"scores": [asdict(score) for score in scores]}

    workers = options.concurrency + 2 * options.scorers
    return await run_cases(list(by_id), work, journal, concurrency=workers, tick=tick)


async def _ask(task: FillTask, target: Target, options: FillOptions) -> Record:
    answer = await target.complete(
        FimInput(task.prefix, task.suffix),
        Sampling(max_tokens=options.max_tokens, temperature=0.0, top_p=1.0),
        until=(lambda text: line_end(text) is not None) if options.one_line else None,
        extras=Extras(cleanup=options.cleanup, language=task.language, timeout_s=options.request_s),
    )
    end = line_end(answer.text) if options.one_line else None
    text = answer.text if end is None else answer.text[:end]
    return {
        "text": text,
        "exact": exact_line(text, task.middle),
        "finish": answer.finish_reason,
        "ttft_s": answer.ttft_s,
        "total_s": answer.total_s,
    }


def fill_report(
    kind: str,
    tasks: Sequence[FillTask],
    records: dict[str, Record],
    config: dict[str, JsonValue],
    seconds: float,
) -> Report:
    """Figures: `exact_match` and, where there are tests, `pass_at_1`; a table by language."""
    cases = tuple(_case(task, records[task.id]) for task in tasks)
    tested = bool(cases) and "base" in cases[0].values
    names = {"pass_at_1": "base", "exact_match": "exact"} if tested else {"exact_match": "exact"}
    figures: dict[str, JsonValue] = {}
    for name, value in names.items():
        right = round(sum(case.values[value] for case in cases))
        figures[name] = right / len(cases)
        figures[f"{name}_interval"] = asdict(share_interval(right, len(cases)))
    figures |= {"tasks": len(cases), "seconds": round(seconds, 1)}
    times = tuple(float(record["total_s"]) for record in records.values())
    return Report(
        kind,
        figures,
        config,
        cases,
        tuple(Measure(name, "binary", value) for name, value in names.items()),
        (_by_language(cases, names),),
        (Plot("Time of one answer", "histogram", (Series("answers", (), times),), "seconds", "answers"),),
    )


def _case(task: FillTask, record: Record) -> Case:
    values = {"exact": float(record["exact"])}
    if task.parts:
        values["base"] = float(all(score["outcome"] == "passed" for score in record["scores"]))
    return Case(task.id, values, group=task.language, note=record["text"][:200])


def _by_language(cases: Sequence[Case], names: dict[str, str]) -> Table:
    rows: list[tuple[str | float | None, ...]] = []
    for language in sorted({case.group for case in cases}):
        own = [case for case in cases if case.group == language]
        shares = [sum(case.values[value] for case in own) / len(own) for value in names.values()]
        rows.append((language, len(own), *shares))
    return Table("By language", ("language", "tasks", *names), tuple(rows))
