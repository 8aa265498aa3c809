"""Checks the scorer itself: reference solutions must pass, empty ones must fail, on every data set."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from codex.evals.humaneval import humaneval_tasks
from codex.evals.infilling import infilling_tasks
from codex.evals.mbpp import mbpp_tasks
from codex.evals.scoring import Part, PartScore, Scorer

Programs = tuple[tuple[str, str, tuple[Part, ...]], ...]
"""Id, whole program, its tests."""


@dataclass(frozen=True, slots=True)
class SelfCheck:
    """`failed` names reference solutions that did not pass, `passed_empty` empty answers that did."""

    data_set: str
    total: int
    failed: tuple[tuple[str, str], ...]
    passed_empty: tuple[str, ...]

    @property
    def right(self) -> bool:
        return self.total > 0 and not self.failed and not self.passed_empty


def code_programs(name: str, data: str | None, *, empty: bool = False) -> Programs:
    tasks = (humaneval_tasks if name.startswith("humaneval") else mbpp_tasks)(data, plus=name.endswith("+"))[
        1
    ]
    return tuple((task.id, "" if empty else task.reference, task.parts) for task in tasks)


def fill_programs(split: str, data: str | None, *, empty: bool = False) -> Programs:
    """An empty line in the middle of a function may well be right, so here the empty program is tried."""
    tasks = infilling_tasks(split, data)[1]
    return tuple(
        (task.id, "" if empty else task.prefix + task.middle + task.suffix, task.parts) for task in tasks
    )


DATA_SETS = ("humaneval", "humaneval+", "mbpp", "mbpp+", "single-line", "random-span")


def programs(name: str, data: str | None, *, empty: bool = False) -> Programs:
    make = fill_programs if name in {"single-line", "random-span"} else code_programs
    return make(name, data, empty=empty)


def self_check(
    name: str,
    data: str | None = None,
    *,
    scorer: Scorer,
    every: int = 1,
    workers: int = 2,
    tick: Callable[[], None] = lambda: None,
) -> SelfCheck:
    """Scores every `every`-th task of a data set, whole and empty. `tick` is called after each run."""
    whole, empty = programs(name, data)[::every], programs(name, data, empty=True)[::every]
    with ThreadPoolExecutor(workers) as pool:

        def run(programs: Programs) -> Iterable[tuple[PartScore, ...]]:
            for scores in pool.map(lambda program: scorer.score(program[1], program[2]), programs):
                tick()
                yield scores

        failed = [
            (
                program[0],
                next(f"{score.part} {score.outcome}: {score.detail}" for score in scores if not score.passed),
            )
            for program, scores in zip(whole, run(whole), strict=True)
            if not all(score.passed for score in scores)
        ]
        passed = [
            program[0]
            for program, scores in zip(empty, run(empty), strict=True)
            if scores and scores[0].passed
        ]
    return SelfCheck(name, len(whole), tuple(failed), tuple(passed))
