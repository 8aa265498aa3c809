"""A `tokenizer.json` out of a GGUF's vocabulary and merges. Knows no engine.

The pre-tokenizers are those of the models' own files. No NFC normaliser is written, though Qwen's own file
has one: it would alter a user's source on the way (see docs/decisions.md).
"""

from __future__ import annotations

from pathlib import Path

import tokenizers
from tokenizers import AddedToken, Regex, decoders, models, pre_tokenizers

from codex.engine.models.gguf_file import GgufFile
from codex.errors import ModelCorrupt, UnsupportedModel

_CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_REST = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
SPLITS = {
    "qwen2": _CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}" + _REST,
    "llama-bpe": _CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}" + _REST,
}
"""`tokenizer.ggml.pre` to the regular expression that cuts text into words."""

_NORMAL, _UNKNOWN, _CONTROL, _USER_DEFINED, _UNUSED = 1, 2, 3, 4, 5


def build_tokenizer(gguf: GgufFile) -> tokenizers.Tokenizer:
    """The tokenizer that `gguf` describes; its special tokens are added tokens with their own ids.

    Raises:
        UnsupportedModel: a vocabulary or pre-tokenizer that is not among those supported.
        ModelCorrupt: the lists of the vocabulary do not fit together.
    """
    _refuse_unsupported(gguf)
    tokens: list[str] = gguf.get("tokenizer.ggml.tokens", [])
    kinds: list[int] = gguf.get("tokenizer.ggml.token_type", [])
    merges: list[str] = gguf.get("tokenizer.ggml.merges", [])
    if not tokens or len(kinds) != len(tokens):
        raise ModelCorrupt(f"{gguf.path}: {len(tokens)} tokens but {len(kinds)} token types")
    vocab = {token: number for number, token in enumerate(tokens) if kinds[number] != _UNUSED}
    pairs = [tuple(merge.split(" ", 1)) for merge in merges]
    try:
        tokenizer = tokenizers.Tokenizer(models.BPE(vocab=vocab, merges=pairs))  # type: ignore[arg-type]
    except Exception as error:
        raise ModelCorrupt(f"{gguf.path}: the vocabulary's merges are broken: {error}") from error
    split = Regex(SPLITS[gguf.get("tokenizer.ggml.pre")])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(split, behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    added = [token for number, token in enumerate(tokens) if kinds[number] in (_CONTROL, _USER_DEFINED)]
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in added])
    return tokenizer


def write_tokenizer(gguf: GgufFile, path: Path) -> dict[str, int]:
    """Writes the tokenizer of `gguf` to `path`; returns its special tokens with their ids."""
    tokenizer = build_tokenizer(gguf)
    tokenizer.save(str(path), pretty=False)
    return {token.content: number for number, token in tokenizer.get_added_tokens_decoder().items()}


def _refuse_unsupported(gguf: GgufFile) -> None:
    kind, split = gguf.get("tokenizer.ggml.model"), gguf.get("tokenizer.ggml.pre")
    if kind != "gpt2":
        raise UnsupportedModel(f"{gguf.path}: vocabulary kind {kind!r}; byte-level BPE ('gpt2') is supported")
    if split not in SPLITS:
        supported = ", ".join(SPLITS)
        raise UnsupportedModel(f"{gguf.path}: pre-tokenizer {split!r}; supported are {supported}")
