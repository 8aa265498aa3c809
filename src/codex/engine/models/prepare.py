"""From a model's name or path to a folder that an engine loads. Knows the order of things, no details."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from codex.engine.models.build import build, check_architecture
from codex.engine.models.catalogue import CATALOGUE, CatalogueEntry
from codex.engine.models.files import remove_leftovers, sha256_of
from codex.engine.models.gguf_file import read_gguf
from codex.engine.models.ir_folder import open_ir_folder
from codex.engine.models.locks import locked
from codex.engine.models.manifest import PreparedModel
from codex.engine.models.progress import Progress, Silent
from codex.engine.models.sources import Source
from codex.engine.models.store import check_prepared, find_prepared
from codex.engine.models.weights import fetch_weights
from codex.errors import UnknownModel
from codex.settings import QuantMode


def prepare(
    model: str,
    *,
    models_dir: Path,
    quant: QuantMode,
    progress: Progress | None = None,
    sources: Sequence[Source] | None = None,
) -> PreparedModel:
    """Makes `model` ready for the engine, or finds it ready. Safe in two processes at once.

    What is found ready is read whole and compared with its digests first (about 1 s a GB).

    Args:
        model: a name of `CATALOGUE`, a GGUF file, or an OpenVINO IR folder.
        models_dir: prepared models lie here, as `<name>-<quant>`.
        quant: precision of the weights; an IR folder keeps its own.
        progress: told about each stage.
        sources: where a catalogue model's weights may come from, in order; None means hub, then packages.

    Raises:
        UnknownModel: neither a name nor a path.
        ModelUnavailable: no source could deliver it; the message says what each one answered.
        ModelCorrupt: what was found is damaged.
        UnsupportedModel: the engine cannot serve it.
        DiskFull: not enough room.
    """
    progress = progress or Silent()
    models_dir = models_dir.expanduser()
    if model in CATALOGUE:
        return _prepare_entry(CATALOGUE[model], models_dir, quant, progress, sources)
    path = Path(model).expanduser()
    if path.is_dir():
        return open_ir_folder(path, progress)
    if path.is_file():
        return _prepare_file(path, models_dir, quant, progress)
    known = ", ".join(CATALOGUE)
    raise UnknownModel(f"{model!r} is neither a model's name ({known}) nor a GGUF file or IR folder")


def _prepare_entry(
    entry: CatalogueEntry,
    models_dir: Path,
    quant: QuantMode,
    progress: Progress,
    sources: Sequence[Source] | None = None,
    weights: Path | None = None,
) -> PreparedModel:
    """`weights`, when given, is a file that was just found to be this entry's."""
    target = models_dir / f"{entry.name}-{quant}"
    with locked(models_dir, target.name, progress):
        ready = find_prepared(target)
        if ready is not None and ready.base_digest == entry.sha256:
            return check_prepared(target, progress)
        remove_leftovers(target)
        weights = weights or fetch_weights(entry, models_dir, progress, sources)
        manifest = build(
            read_gguf(weights),
            target,
            name=entry.name,
            base_digest=entry.sha256,
            licence=entry.licence,
            quant=quant,
            progress=progress,
        )
    return manifest.prepared(target)


def _prepare_file(path: Path, models_dir: Path, quant: QuantMode, progress: Progress) -> PreparedModel:
    gguf = read_gguf(path)
    check_architecture(gguf)
    progress.stage("verify", path.stat().st_size)
    digest = sha256_of(path, progress)
    for entry in CATALOGUE.values():
        if entry.sha256 == digest:
            return _prepare_entry(entry, models_dir, quant, progress, weights=path)
    target = models_dir / f"{path.stem}-{digest[:12]}-{quant}"
    with locked(models_dir, target.name, progress):
        if find_prepared(target) is not None:
            return check_prepared(target, progress)
        remove_leftovers(target)
        manifest = build(
            gguf,
            target,
            name=path.stem,
            base_digest=digest,
            licence=str(gguf.get("general.license", "unknown")),
            quant=quant,
            progress=progress,
        )
    return manifest.prepared(target)
