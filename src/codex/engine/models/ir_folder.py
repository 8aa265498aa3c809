"""An OpenVINO IR folder that somebody else exported, served as it is. Writes nothing there."""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec

from codex.engine.models.build import template_of
from codex.engine.models.files import sha256_of
from codex.engine.models.ir import MODEL_FILES
from codex.engine.models.manifest import MANIFEST, TOKENIZER, PreparedModel
from codex.engine.models.progress import Progress
from codex.engine.models.store import check_prepared
from codex.engine.tokenizer import QwenTokenizer
from codex.errors import ModelCorrupt, UnsupportedModel

_CONFIG = "config.json"
_EXPORT = "Optimum's exporter writes it; or copy it from the model's repository into this folder"


class _Config(msgspec.Struct):
    """What is read of a Hugging Face `config.json`."""

    max_position_embeddings: int


def open_ir_folder(folder: Path, progress: Progress) -> PreparedModel:
    """Takes the IR in `folder` for service, in the precision it was exported with.

    Raises:
        UnsupportedModel: files that serving needs are missing, or the tokenizer is of another kind.
        ModelCorrupt: a file cannot be read, or is not what the folder's manifest says.
    """
    if (folder / MANIFEST).is_file():
        return check_prepared(folder, progress)
    _require_files(folder)
    try:
        config = msgspec.json.decode((folder / _CONFIG).read_bytes(), type=_Config)
    except msgspec.DecodeError as error:
        raise ModelCorrupt(f"{folder / _CONFIG} cannot be read: {error}") from error
    special = dict(QwenTokenizer.load(folder / TOKENIZER).special_tokens)
    return PreparedModel(
        path=folder,
        name=folder.name,
        base_digest=_digest(folder, progress),
        context_length=config.max_position_embeddings,
        template=template_of(special),
        quant="as exported",
    )


def _require_files(folder: Path) -> None:
    missing = [name for name in MODEL_FILES if not (folder / name).is_file()]
    if missing:
        raise UnsupportedModel(f"{folder} is no OpenVINO IR folder: {', '.join(missing)} missing")
    if not (folder / TOKENIZER).is_file():
        has_other = (folder / "openvino_tokenizer.xml").is_file()
        aside = " (openvino_tokenizer.xml is there, but cuts input at 8,192 tokens)" if has_other else ""
        raise UnsupportedModel(f"{folder} has no {TOKENIZER}{aside}: {_EXPORT}")
    if not (folder / _CONFIG).is_file():
        raise UnsupportedModel(f"{folder} has no {_CONFIG}, which says the context length: {_EXPORT}")


def _digest(folder: Path, progress: Progress) -> str:
    """One digest over graph and weights."""
    paths = [folder / name for name in MODEL_FILES]
    progress.stage("verify", sum(path.stat().st_size for path in paths))
    return hashlib.sha256("".join(sha256_of(path, progress) for path in paths).encode()).hexdigest()
