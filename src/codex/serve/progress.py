"""Shows the preparation of a model on a terminal. Knows stages and bytes only."""

from __future__ import annotations

from types import TracebackType

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TransferSpeedColumn,
)


class TerminalProgress:
    """A bar a stage, on standard error. A context manager; nothing is drawn before the first stage."""

    def __init__(self) -> None:
        self._bars = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            DownloadColumn(),
            TransferSpeedColumn(),
            TimeElapsedColumn(),
            console=Console(stderr=True),
        )
        self._stage: TaskID | None = None

    def __enter__(self) -> TerminalProgress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._stage is None:
            return
        if kind is None:
            self._complete()
        self._bars.stop()

    def stage(self, name: str, total: int | None) -> None:
        self._bars.start()
        self._complete()
        self._stage = self._bars.add_task(name, total=total)

    def advance(self, amount: int) -> None:
        if self._stage is not None:
            self._bars.advance(self._stage, amount)

    def _complete(self) -> None:
        if self._stage is not None:
            done = self._bars.tasks[self._bars.task_ids.index(self._stage)].completed
            self._bars.update(self._stage, total=done or 1, completed=done or 1)
