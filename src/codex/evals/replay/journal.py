"""Finished edits on disk, so that an interrupted replay goes on where it stopped. Knows rows, no server.

A file of JSON lines: first the run's configuration, then a row for each finished edit.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Self

import msgspec

from codex.errors import EvaluationError
from codex.evals.replay.rows import EditRow
from codex.evals.report import JsonValue


class Journal:
    """Use as a context manager. `rows` holds what an earlier run of the same configuration finished.

    Raises:
        EvaluationError: the file belongs to a run with another configuration, or is not a journal.
    """

    def __init__(self, path: Path, config: Mapping[str, JsonValue]) -> None:
        self._path = path
        self._head = json.dumps(config, sort_keys=True)
        self.rows: dict[str, EditRow] = {}
        self._file: IO[str] | None = None

    def __enter__(self) -> Self:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        if self._path.exists() and self._path.stat().st_size:
            whole = self._read()
            # A line cut by a kill would glue itself to the next one: keep whole lines only.
            self._file = self._path.open("r+")
            self._file.seek(whole)
            self._file.truncate()
        else:
            self._file = self._path.open("w")
            self._file.write(self._head + "\n")
            self._file.flush()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()

    def add(self, row: EditRow) -> None:
        assert self._file is not None, "used outside its context"
        self._file.write(msgspec.json.encode(row).decode() + "\n")
        self._file.flush()

    def _read(self) -> int:
        raw = self._path.read_bytes()
        whole = raw.rfind(b"\n") + 1
        head, *rows = raw[:whole].splitlines() or [b""]
        try:
            same = json.dumps(json.loads(head), sort_keys=True) == self._head
            found = [msgspec.json.decode(line, type=EditRow) for line in rows]
        except (ValueError, msgspec.DecodeError) as error:
            raise EvaluationError(f"{self._path} is not a journal of a replay: name another file") from error
        if not same:
            raise EvaluationError(
                f"{self._path} belongs to a replay with another configuration: name another file"
            )
        self.rows = {row.id: row for row in found}
        return whole
