"""Answers on disk as they come, one JSON line each, so that an interrupted run goes on where it was."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from platformdirs import user_cache_path

from codex.errors import EvaluationError

Record = dict[str, Any]


def default_path(kind: str, settings: Mapping[str, Any]) -> Path:
    """A place of its own for each configuration, in the user's cache."""
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()
    return user_cache_path("codex") / "evals" / f"{kind}-{digest[:16]}.jsonl"


class Journal:
    """`done` holds the records of an earlier run when `resume` is set; else the file starts anew.

    `settings` are everything that changes an answer: a journal made with others is refused. A line that an
    interrupt tore is dropped.

    Raises:
        EvaluationError: the file was made with other settings, or is no journal.
    """

    def __init__(self, path: Path, settings: Mapping[str, Any], *, resume: bool) -> None:
        self.path = path
        self.done: dict[str, Record] = {}
        path.parent.mkdir(parents=True, exist_ok=True)
        header = json.dumps({"settings": settings}, sort_keys=True)
        if resume and path.is_file():
            self._read(header)
        lines = [header, *(_line(key, record) for key, record in self.done.items())]
        path.write_text("".join(f"{line}\n" for line in lines))
        self._file = path.open("a")

    def _read(self, header: str) -> None:
        lines = self.path.read_text().splitlines()
        if not lines:
            return
        if lines[0] != header:
            raise EvaluationError(
                f"{self.path} was made with other settings: run without --resume, or give another --answers"
            )
        for number, line in enumerate(lines[1:], start=2):
            try:
                record = json.loads(line)
                self.done[record.pop("key")] = record
            except (ValueError, KeyError) as error:
                if number < len(lines):
                    raise EvaluationError(f"{self.path}, line {number} is damaged: {error}") from error

    def append(self, key: str, record: Record) -> None:
        self._file.write(_line(key, record) + "\n")
        self._file.flush()
        self.done[key] = record

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()


def _line(key: str, record: Record) -> str:
    return json.dumps({"key": key, **record}, ensure_ascii=False)
