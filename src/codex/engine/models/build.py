"""One preparation, from a verified GGUF to a folder that an engine loads. Knows no source and no lock."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import msgspec

from codex.engine.models.files import folder_in_making, require_room, sha256_of
from codex.engine.models.gguf_file import GgufFile
from codex.engine.models.ir import MODEL_FILES, make_ir
from codex.engine.models.manifest import FORMAT, TOKENIZER, FileRecord, Manifest, write_manifest
from codex.engine.models.progress import Progress
from codex.engine.models.requantise import prepared_bytes, requantise
from codex.engine.models.tokenizer_json import write_tokenizer
from codex.errors import UnsupportedModel
from codex.settings import QuantMode

ARCHITECTURES = ("qwen2", "qwen3", "llama")
"""What the engine's GGUF reader supports."""

_FIM = ("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>")
_CHAT = ("<|im_start|>", "<|im_end|>")
_LIBRARIES = ("codex-server", "openvino", "openvino-genai", "gguf", "tokenizers")


def build(
    gguf: GgufFile,
    target: Path,
    *,
    name: str,
    base_digest: str,
    licence: str,
    quant: QuantMode,
    progress: Progress,
) -> Manifest:
    """Makes the prepared folder `target`; it appears whole or not at all.

    Raises:
        UnsupportedModel: an architecture, vocabulary or tensor format that cannot be served.
        DiskFull: not enough room for the intermediate and the final files together.
    """
    check_architecture(gguf)
    require_room(target, 2 * prepared_bytes(gguf, quant) + (64 << 20), f"preparing {name} as {quant}")
    with folder_in_making(target) as scratch:
        special = write_tokenizer(gguf, scratch / TOKENIZER)
        intermediate = scratch / "model.gguf"
        requantise(gguf, intermediate, quant, progress)
        make_ir(intermediate, quant, progress)
        _keep_only(scratch, {TOKENIZER, *MODEL_FILES})
        _write_generation_config(gguf, scratch / "generation_config.json")
        manifest = Manifest(
            format=FORMAT,
            name=name,
            base_digest=base_digest,
            architecture=gguf.architecture,
            context_length=int(gguf.of_architecture("context_length", 2048)),
            template=template_of(special),
            quant=quant,
            licence=licence,
            special_tokens=special,
            versions={library: version(library) for library in _LIBRARIES},
            files=record(scratch, progress),
        )
        write_manifest(scratch, manifest)
    return manifest


def check_architecture(gguf: GgufFile) -> None:
    """Raises UnsupportedModel for an architecture that the engine's reader does not know."""
    if gguf.architecture not in ARCHITECTURES:
        supported = ", ".join(ARCHITECTURES)
        raise UnsupportedModel(
            f"{gguf.path} is of architecture {gguf.architecture!r}; supported are {supported}"
        )


def template_of(special: dict[str, int]) -> str:
    """The prompt format that the vocabulary allows: with FIM tokens, chat only, or plain text only."""
    chat = all(token in special for token in _CHAT)
    if chat and all(token in special for token in _FIM):
        return "qwen2.5-coder"
    return "chatml" if chat else "text"


def record(folder: Path, progress: Progress) -> dict[str, FileRecord]:
    """Size and digest of each file in `folder`."""
    paths = sorted(path for path in folder.iterdir() if path.is_file())
    progress.stage("verify", sum(path.stat().st_size for path in paths))
    return {path.name: FileRecord(path.stat().st_size, sha256_of(path, progress)) for path in paths}


def _write_generation_config(gguf: GgufFile, path: Path) -> None:
    """The engine takes its end-of-text id from here; without one it refuses every request."""
    names = ("eos_token_id", "bos_token_id", "padding_token_id")
    found = {name: gguf.get(f"tokenizer.ggml.{name}") for name in names}
    ids = {name.replace("padding", "pad"): number for name, number in found.items() if number is not None}
    path.write_bytes(msgspec.json.encode(ids))


def _keep_only(folder: Path, names: set[str]) -> None:
    for path in folder.iterdir():
        if path.name not in names:
            path.unlink()
