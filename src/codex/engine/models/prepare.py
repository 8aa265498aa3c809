"""From a model's name or path to a folder that an engine loads. Knows the order of things, no details."""

from __future__ import annotations

from pathlib import Path

from filelock import FileLock

from codex.engine.models.build import build
from codex.engine.models.catalogue import CATALOGUE
from codex.engine.models.files import remove_leftovers, sha256_of
from codex.engine.models.gguf_file import read_gguf
from codex.engine.models.manifest import FORMAT, PreparedModel, read_manifest
from codex.engine.models.progress import Progress, Silent
from codex.errors import ModelCorrupt, UnknownModel
from codex.settings import QuantMode


def prepare(
    model: str, *, models_dir: Path, quant: QuantMode, progress: Progress | None = None
) -> PreparedModel:
    """Makes `model` ready for the engine, or finds it ready. Safe in two processes at once.

    Args:
        model: a name of `CATALOGUE`, a GGUF file, or an OpenVINO IR folder.
        models_dir: prepared models lie here, as `<name>-<quant>`.
        quant: precision of the weights.
        progress: told about each stage.

    Raises:
        UnknownModel: neither a name nor a path.
        ModelUnavailable: no source could deliver it; the message says what each one answered.
        ModelCorrupt: what was found is damaged.
        UnsupportedModel: the engine cannot serve it.
        DiskFull: not enough room.
    """
    progress = progress or Silent()
    path = Path(model).expanduser()
    if path.is_file():
        return _prepare_file(path, models_dir, quant, progress)
    known = ", ".join(CATALOGUE)
    raise UnknownModel(f"{model!r} is neither a model's name ({known}) nor a GGUF file or IR folder")


def _prepare_file(path: Path, models_dir: Path, quant: QuantMode, progress: Progress) -> PreparedModel:
    gguf = read_gguf(path)
    progress.stage("verify", path.stat().st_size)
    digest = sha256_of(path, progress)
    target = models_dir / f"{path.stem}-{digest[:12]}-{quant}"
    models_dir.mkdir(parents=True, exist_ok=True)
    with FileLock(models_dir / f".{target.name}.lock"):
        ready = _find_ready(target)
        if ready is not None:
            return ready
        remove_leftovers(target)
        manifest = build(
            gguf,
            target,
            name=path.stem,
            base_digest=digest,
            licence="unknown",
            quant=quant,
            progress=progress,
        )
    return manifest.prepared(target)


def _find_ready(target: Path) -> PreparedModel | None:
    try:
        manifest = read_manifest(target)
    except ModelCorrupt:
        return None
    sizes_fit = all(
        (target / name).is_file() and (target / name).stat().st_size == record.bytes
        for name, record in manifest.files.items()
    )
    return manifest.prepared(target) if manifest.format == FORMAT and sizes_fit else None
