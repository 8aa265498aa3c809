"""Token ids into text as they arrive. Knows no tokenizer's insides, only its bytes."""

from __future__ import annotations

import codecs
from collections.abc import Iterable

from codex.types import Tokenizer


class TokenDecoder:
    """Text of one answer. However the ids are split over `push` calls, the text is the same.

    A character whose bytes are not complete yet is held back. Special tokens give no text. Bytes that can
    never become a character are shown as U+FFFD, as is an unfinished character at `finish`.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._bytes = tokenizer.token_bytes
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def push(self, tokens: Iterable[int]) -> str:
        return self._decoder.decode(b"".join(map(self._bytes, tokens)))

    def finish(self) -> str:
        """What is still held back. The decoder is fresh afterwards."""
        return self._decoder.decode(b"", final=True)
