"""What a prepared model folder says of itself. Knows how it is written and read, not how it is made."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import msgspec

from codex.errors import ModelCorrupt

MANIFEST = "manifest.json"
TOKENIZER = "tokenizer.json"
FORMAT = 3
"""Raised when what lies in a prepared folder changes: older ones are prepared anew."""


@dataclass(frozen=True, slots=True)
class PreparedModel:
    """A folder that an engine can load. `base_digest` is the sha256 of the weights it was made from."""

    path: Path
    name: str
    base_digest: str
    context_length: int
    template: str
    quant: str


@dataclass(frozen=True, slots=True)
class FileRecord:
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """`template` names the prompt format: `qwen2.5-coder`, `chatml` (chat only) or `text`."""

    format: int
    name: str
    base_digest: str
    architecture: str
    context_length: int
    template: str
    quant: str
    licence: str
    special_tokens: dict[str, int]
    versions: dict[str, str]
    files: dict[str, FileRecord]

    def prepared(self, path: Path) -> PreparedModel:
        return PreparedModel(
            path, self.name, self.base_digest, self.context_length, self.template, self.quant
        )


def write_manifest(folder: Path, manifest: Manifest) -> None:
    data = msgspec.json.format(msgspec.json.encode(manifest), indent=2)
    (folder / MANIFEST).write_bytes(data + b"\n")


def read_manifest(folder: Path) -> Manifest:
    """Reads the manifest in `folder`.

    Raises:
        ModelCorrupt: there is none, or it does not say what it should.
    """
    try:
        return msgspec.json.decode((folder / MANIFEST).read_bytes(), type=Manifest)
    except (OSError, msgspec.DecodeError) as error:
        raise ModelCorrupt(f"{folder} is no prepared model: {error}") from error
