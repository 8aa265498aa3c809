"""Prepared models on disk: listed, verified, removed. Makes none."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from codex.engine.models.catalogue import CATALOGUE
from codex.engine.models.files import sha256_of
from codex.engine.models.locks import locked
from codex.engine.models.manifest import FORMAT, MANIFEST, Manifest, PreparedModel, read_manifest
from codex.engine.models.progress import Progress, Silent
from codex.engine.models.weights import weights_path
from codex.errors import ModelCorrupt, UnknownModel
from codex.settings import QuantMode


@dataclass(frozen=True, slots=True)
class Listed:
    """A prepared model as found. `problem` says why it cannot be used; empty when it can."""

    model: PreparedModel
    bytes: int
    licence: str
    problem: str = ""


def list_prepared(models_dir: Path) -> list[Listed]:
    """Every prepared model in `models_dir`, by folder name. Sizes are compared, digests are not."""
    folders = sorted(path.parent for path in models_dir.glob(f"*/{MANIFEST}"))
    return [_listed(folder) for folder in folders]


def _listed(folder: Path) -> Listed:
    size = sum(path.stat().st_size for path in folder.iterdir() if path.is_file())
    try:
        manifest = read_manifest(folder)
    except ModelCorrupt as error:
        return Listed(PreparedModel(folder, folder.name, "", 0, "", ""), size, "", str(error))
    problem = _wrong_size(folder, manifest)
    return Listed(manifest.prepared(folder), size, manifest.licence, problem)


def find_prepared(folder: Path) -> Manifest | None:
    """The manifest in `folder` when there is a prepared model of today's format."""
    if not (folder / MANIFEST).is_file():
        return None
    manifest = read_manifest(folder)
    return manifest if manifest.format == FORMAT else None


def check_prepared(folder: Path, progress: Progress | None = None) -> PreparedModel:
    """Reads every byte of the prepared model in `folder` and compares it with the manifest.

    Raises:
        ModelCorrupt: names the first file that is missing, cut or changed, with both digests.
    """
    progress = progress or Silent()
    manifest = read_manifest(folder)
    remedy = f"remove it with `codex-cli model remove {manifest.name}` and prepare it again"
    problem = _wrong_size(folder, manifest)
    if problem:
        raise ModelCorrupt(f"{problem}: {remedy}")
    progress.stage("verify", sum(record.bytes for record in manifest.files.values()))
    for name, record in manifest.files.items():
        found = sha256_of(folder / name, progress)
        if found != record.sha256:
            raise ModelCorrupt(f"{folder / name}: sha256 is {found}, expected {record.sha256}: {remedy}")
    return manifest.prepared(folder)


def _wrong_size(folder: Path, manifest: Manifest) -> str:
    for name, record in manifest.files.items():
        path = folder / name
        if not path.is_file():
            return f"{path} is missing"
        if path.stat().st_size != record.bytes:
            return f"{path} has {path.stat().st_size} bytes, expected {record.bytes} (sha256 {record.sha256})"
    return ""


def verify(
    model: str, *, models_dir: Path, quant: QuantMode | None = None, progress: Progress | None = None
) -> list[PreparedModel]:
    """Verifies what is prepared of `model`, in every precision or in `quant` alone.

    Raises:
        UnknownModel: nothing of that name is prepared.
        ModelCorrupt: something is damaged; the message names the file and both digests.
    """
    return [check_prepared(folder, progress) for folder in _folders_of(model, models_dir, quant)]


def remove(
    model: str, *, models_dir: Path, quant: QuantMode | None = None, progress: Progress | None = None
) -> int:
    """Removes what is prepared of `model`; without `quant` its downloaded weights too. Returns bytes freed.

    Raises:
        UnknownModel: there is nothing of that name.
    """
    freed = 0
    for folder in _folders_of(model, models_dir, quant):
        with locked(models_dir, folder.name, progress or Silent()):
            freed += _size_of(folder)
            shutil.rmtree(folder, ignore_errors=True)
    return freed if quant else freed + _remove_weights(model, models_dir, progress or Silent())


def _folders_of(model: str, models_dir: Path, quant: QuantMode | None) -> list[Path]:
    """Folders whose model is named `model`, or that are named so themselves."""
    found = [
        listed.model.path
        for listed in list_prepared(models_dir)
        if model in (listed.model.name, listed.model.path.name) and quant in (None, listed.model.quant)
    ]
    if not found and not (model in CATALOGUE and weights_path(CATALOGUE[model], models_dir).is_file()):
        raise UnknownModel(f"nothing named {model!r} is prepared in {models_dir}: see `codex-cli model list`")
    return found


def _remove_weights(model: str, models_dir: Path, progress: Progress) -> int:
    if model not in CATALOGUE:
        return 0
    path = weights_path(CATALOGUE[model], models_dir)
    with locked(models_dir, path.stem, progress):
        leftovers = [path, *path.parent.glob(f".{path.stem}.*")]
        freed = sum(_size_of(item) for item in leftovers if item.exists())
        for item in leftovers:
            shutil.rmtree(item, ignore_errors=True) if item.is_dir() else item.unlink(missing_ok=True)
    return freed


def _size_of(path: Path) -> int:
    if path.is_file():
        return path.stat().st_size
    return sum(item.stat().st_size for item in path.rglob("*") if item.is_file())
