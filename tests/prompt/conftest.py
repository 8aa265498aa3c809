"""A byte tokenizer with readable special tokens, and requests in short."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from codex.engine.mock import SPECIAL_TOKENS, ByteTokenizer

NAMES = {number: name for name, number in SPECIAL_TOKENS.items()}


@pytest.fixture
def tokenizer() -> ByteTokenizer:
    return ByteTokenizer()


@pytest.fixture
def written() -> Callable[[Iterable[int]], str]:
    """Token ids as text, special tokens by name."""

    def write(tokens: Iterable[int]) -> str:
        data = b"".join(NAMES[t].encode() if t in NAMES else bytes([t]) for t in tokens)
        return data.decode("utf-8", errors="surrogateescape")

    return write
