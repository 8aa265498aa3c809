"""One process at a time at a thing on disk. Knows no model."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from codex.engine.models.progress import Progress
from codex.errors import ModelUnavailable

_PATIENCE_S = 3600.0


@contextmanager
def locked(models_dir: Path, name: str, progress: Progress) -> Iterator[None]:
    """Holds the lock `name` of `models_dir`; waits for another process that has it, and says so.

    The system frees the lock of a process that dies.

    Raises:
        ModelUnavailable: the other process took more than an hour.
    """
    folder = models_dir / ".locks"
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / f"{name}.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        progress.stage("wait for another process", None)
        try:
            lock.acquire(timeout=_PATIENCE_S)
        except Timeout as error:
            raise ModelUnavailable(
                f"another process has been preparing {name} for more than an hour: end it and try again"
            ) from error
    try:
        yield
    finally:
        lock.release()
