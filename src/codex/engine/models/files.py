"""Bytes on disk: digests, free room, folders that appear whole or not at all. Knows no model."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from codex.engine.models.progress import Progress, Silent
from codex.errors import DiskFull, ModelCorrupt

_CHUNK = 1 << 22


def sha256_of(path: Path, progress: Progress | None = None) -> str:
    """Hex digest of the file at `path`; `progress` advances by bytes within the current stage."""
    progress = progress or Silent()
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
            progress.advance(len(chunk))
    return digest.hexdigest()


def check_digest(path: Path, expected: str, progress: Progress) -> None:
    """Refuses the file at `path` when it is not the one expected.

    Raises:
        ModelCorrupt: the digests differ; the message holds both.
    """
    progress.stage("verify", path.stat().st_size)
    found = sha256_of(path, progress)
    if found != expected:
        raise ModelCorrupt(
            f"{path}: sha256 is {found}, expected {expected}: the file is damaged or another one"
        )


def require_room(folder: Path, needed: int, what: str) -> None:
    """Checks that `needed` bytes are free at `folder`, which need not exist yet.

    Raises:
        DiskFull: with both figures.
    """
    existing = next(parent for parent in (folder, *folder.absolute().parents) if parent.exists())
    free = shutil.disk_usage(existing).free
    if free < needed:
        raise DiskFull(
            f"{what} needs {needed / 1e9:.2f} GB free at {folder}, {free / 1e9:.2f} GB are: "
            "free some room, or point CODEX_MODELS_DIR at another disk"
        )


@contextmanager
def folder_in_making(target: Path) -> Iterator[Path]:
    """A scratch folder beside `target` that becomes it in one rename, or is removed on any error.

    An older `target` is replaced. The caller holds the lock of `target`, so nobody else is at it.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=f".{target.name}.making-", dir=target.parent))
    try:
        yield scratch
        scratch.chmod(0o755)
        if target.exists():
            shutil.rmtree(target)
        scratch.rename(target)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def remove_leftovers(target: Path) -> None:
    """Removes scratch folders that a crashed preparation of `target` left behind. Hold its lock."""
    for leftover in target.parent.glob(f".{target.name}.making-*"):
        shutil.rmtree(leftover, ignore_errors=True)
