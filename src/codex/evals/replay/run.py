"""A whole replay: every edit typed, file by file, by one or more typists. Knows no package and no report."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream

from codex.errors import CodexError
from codex.evals.replay.asking import Asker
from codex.evals.replay.edits import Edit
from codex.evals.replay.metrics import figures_of
from codex.evals.replay.options import ReplayOptions
from codex.evals.replay.rows import EditRow
from codex.evals.replay.session import EventSink, type_edit
from codex.evals.replay.sinks import nowhere
from codex.evals.report import JsonValue
from codex.evals.target import Target

Typist = Callable[[MemoryObjectReceiveStream[list[Edit]]], Coroutine[Any, Any, None]]


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """Rows in the order of the edits. `figures` are described in `metrics`."""

    rows: tuple[EditRow, ...]

    @property
    def figures(self) -> dict[str, JsonValue]:
        return figures_of(self.rows)


async def replay(
    edits: Sequence[Edit],
    target: Target,
    options: ReplayOptions | None = None,
    *,
    sink: EventSink = nowhere,
    finished: Mapping[str, EditRow] | None = None,
    on_row: Callable[[EditRow], None] | None = None,
) -> ReplayResult:
    """Types `edits` against `target`, which is open and made with `retries=0`.

    `finished` are rows of an earlier, interrupted run, by edit id; they are not typed again. `on_row` sees
    each new row. A file's edits are typed in order by one typist; typists share the files between them.

    Raises:
        EvaluationError: the server keeps failing, or a sink refuses.
    """
    options = options or ReplayOptions()
    rows = dict(finished or {})
    asker = Asker(target, options)

    async def typist(files: MemoryObjectReceiveStream[list[Edit]]) -> None:
        async with files:
            async for file in files:
                for edit in file:
                    rows[edit.id] = await type_edit(edit, asker, options, sink)
                    if on_row is not None:
                        on_row(rows[edit.id])

    try:
        await _share_files([edit for edit in edits if edit.id not in rows], options.typists, typist)
    except BaseExceptionGroup as group:
        raise _cause(group) from group
    return ReplayResult(tuple(rows[edit.id] for edit in edits))


async def _share_files(
    edits: Iterable[Edit],
    typists: int,
    typist: Typist,
) -> None:
    send, receive = anyio.create_memory_object_stream[list[Edit]](0)
    async with anyio.create_task_group() as group:
        for _ in range(typists):
            group.start_soon(typist, receive.clone())
        receive.close()
        # Broken: every typist failed and left. The group raises what they failed with.
        with suppress(anyio.BrokenResourceError):
            async with send:
                for _, file in groupby(edits, key=lambda edit: edit.path):
                    await send.send(list(file))


def _cause(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The first of our own errors when the group holds nothing else, so that callers see what was wrong."""
    ours, others = group.split(CodexError)
    if ours is None or others is not None:
        return group
    found: BaseException = ours
    while isinstance(found, BaseExceptionGroup):
        found = found.exceptions[0]
    return found
