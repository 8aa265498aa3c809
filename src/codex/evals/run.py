"""Runs many cases at once: so many answers in flight, so many scored beside, each journalled when done.

Knows no benchmark: a case is a key and a function that gives its record.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager

import anyio
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from codex.evals.journal import Journal, Record

Tick = Callable[[], None]


async def run_cases(
    keys: Sequence[str],
    work: Callable[[str], Awaitable[Record]],
    journal: Journal,
    *,
    concurrency: int,
    tick: Tick = lambda: None,
) -> dict[str, Record]:
    """Records of all `keys`, in their order; those in the journal are not asked for again.

    At most `concurrency` run `work` at a time; the first failure ends the rest, what is journalled stays.
    """
    waiting = iter([key for key in keys if key not in journal.done])
    for _ in range(len(keys) - len([key for key in keys if key not in journal.done])):
        tick()

    async def worker() -> None:
        for key in waiting:
            journal.append(key, await work(key))
            tick()

    try:
        async with anyio.create_task_group() as group:
            for _ in range(min(concurrency, len(keys))):
                group.start_soon(worker)
    except* Exception as failed:
        raise _first(failed) from failed
    return {key: journal.done[key] for key in keys}


def _first(group: BaseExceptionGroup[Exception]) -> Exception:
    """One error says enough: workers fail alike."""
    found = group.exceptions[0]
    return _first(found) if isinstance(found, BaseExceptionGroup) else found


@contextmanager
def progress_bar(title: str, total: int) -> Iterator[Tick]:
    """A bar with the time left, on stderr, where no result is printed."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task(title, total=total)
        yield lambda: progress.advance(task)
