"""Text to token ids and back for byte-level BPE vocabularies. Knows no engine and no prompt format."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import tokenizers

from codex.errors import ModelCorrupt, UnsupportedModel

REMEMBERED_CHARS = 2048
REMEMBERED_PIECES = 512
"""A file is encoded anew at every key that is typed in it, piece by piece, and all but one piece are as they
were. At most about 15 MB."""


class QwenTokenizer:
    """A `tokenizer.json` of byte-level BPE, used so that a file is never altered and never cut.

    Two things differ from loading the file as it is. Added tokens are kept out of the encoder, so
    `<|im_end|>` in a source file is encoded as the characters it is made of. Qwen's NFC normaliser is
    left out, so that decoding gives back exactly what was encoded (an identifier in NFD stays NFD).
    """

    def __init__(self, config: dict[str, Any]) -> None:
        """`config` is the parsed `tokenizer.json`.

        Raises:
            UnsupportedModel: the vocabulary is not byte-level BPE.
        """
        _refuse_other_kinds(config)
        self._special: dict[str, int] = {token["content"]: token["id"] for token in config["added_tokens"]}
        plain = {**config, "added_tokens": [], "normalizer": None, "post_processor": None}
        plain |= {"truncation": None, "padding": None}
        self._encoder = tokenizers.Tokenizer.from_str(json.dumps(plain))
        self._bytes = _bytes_of_ids(config["model"]["vocab"], self._special)
        self._remembered = lru_cache(REMEMBERED_PIECES)(self._encode)

    @classmethod
    def load(cls, path: Path) -> QwenTokenizer:
        """Reads the `tokenizer.json` at `path`.

        Raises:
            ModelCorrupt: the file is missing or is no tokenizer.
            UnsupportedModel: the vocabulary is not byte-level BPE.
        """
        try:
            return cls(json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ModelCorrupt(f"{path} is not a readable tokenizer.json: {error}") from error

    @property
    def vocab_size(self) -> int:
        """Highest known id plus one; rows that pad the embedding matrix beyond it are not counted."""
        return len(self._bytes)

    @property
    def special_tokens(self) -> Mapping[str, int]:
        return self._special

    def encode(self, text: str) -> list[int]:
        """Ids of `text` as plain text, whole. A lone surrogate, which no file can hold, becomes U+FFFD."""
        return list(self._remembered(text) if len(text) <= REMEMBERED_CHARS else self._encode(text))

    def _encode(self, text: str) -> tuple[int, ...]:
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return tuple(self._encoder.encode(text, add_special_tokens=False).ids)

    def token_bytes(self, token: int) -> bytes:
        return self._bytes[token] if 0 <= token < len(self._bytes) else b""

    def special(self, name: str) -> int:
        return self._special[name]


def _refuse_other_kinds(config: dict[str, Any]) -> None:
    kind = config["model"]["type"]
    if kind != "BPE" or "ByteLevel" not in json.dumps(config.get("decoder")):
        raise UnsupportedModel(
            f"the tokenizer is {kind} without byte-level decoding: byte-level BPE is needed"
        )
    normalizer = config.get("normalizer")
    if normalizer is not None and normalizer.get("type") != "NFC":
        raise UnsupportedModel(
            f"the tokenizer rewrites text ({normalizer.get('type')}): only NFC can be left out"
        )


def byte_alphabet() -> dict[str, int]:
    """Character that stands for a byte in a byte-level vocabulary, to that byte (the GPT-2 table)."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in set(printable)]
    characters = [chr(byte) for byte in printable] + [chr(256 + n) for n in range(len(others))]
    return dict(zip(characters, printable + others, strict=True))


def _bytes_of_ids(vocab: dict[str, int], special: dict[str, int]) -> list[bytes]:
    """Bytes of each id; empty for special and unused ones."""
    alphabet = byte_alphabet()
    table = [b""] * (1 + max((*vocab.values(), *special.values())))
    taken = set(special.values())
    for text, token in vocab.items():
        if token not in taken and all(character in alphabet for character in text):
            table[token] = bytes(map(alphabet.__getitem__, text))
    return table
