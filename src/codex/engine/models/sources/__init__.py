"""Where weights come from, one file a source. Whether the bytes are right is not its matter."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from codex.engine.models.catalogue import CatalogueEntry
from codex.engine.models.progress import Progress


class Source(Protocol):
    @property
    def name(self) -> str: ...

    def fetch(self, entry: CatalogueEntry, folder: Path, progress: Progress) -> Path:
        """Brings the GGUF of `entry` into `folder` and returns where it lies there.

        `folder` is this source's own and is kept when a fetch is interrupted, so that the next one goes on
        from there. The caller holds its lock.

        Raises:
            ModelUnavailable: it cannot be had from here; the message says why.
        """
        ...
