"""Encodes only as much of a text as can matter, in slices. Knows tokens, no template.

A slice ends where a line ends and the next one has something visible on it: there the ids of the parts are
the ids of the whole, because the vocabulary's word splitter never joins over such a place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from codex.types import Tokenizer

SLICE_CHARS = 2048
"""Small enough to stop early and to be remembered by the tokenizer, large enough that calls cost little."""

COUNT_CHARS = 65_536
"""Left-out text is counted exactly up to here and estimated beyond, so that a huge file costs no seconds."""

_LINE_START = re.compile(r"\n(?=[^\S\n]*\S)")


@dataclass(frozen=True, slots=True)
class Encoded:
    """`tokens` of the end (or start) of a text, and how many tokens of it lie beyond them."""

    tokens: tuple[int, ...]
    left_out: int

    @property
    def total(self) -> int:
        return len(self.tokens) + self.left_out


def encode_head(tokenizer: Tokenizer, text: str, limit: int) -> Encoded:
    """The first tokens of `text`, at most `limit`."""
    tokens: list[int] = []
    end = 0
    for start, end in _slices(text):
        tokens += tokenizer.encode(text[start:end])
        if len(tokens) > limit:
            break
    beyond = count(tokenizer, text[end:])
    kept = tuple(tokens[:limit])
    return Encoded(kept, len(tokens) - len(kept) + beyond)


def encode_tail(tokenizer: Tokenizer, text: str, limit: int) -> Encoded:
    """The last tokens of `text`, at most `limit`."""
    parts: list[list[int]] = []
    found, start = 0, 0
    for start, end in reversed(list(_slices(text))):
        parts.append(tokenizer.encode(text[start:end]))
        found += len(parts[-1])
        if found > limit:
            break
    tokens = [token for part in reversed(parts) for token in part]
    kept = tuple(tokens[max(0, found - limit) :])
    return Encoded(kept, found - len(kept) + count(tokenizer, text[:start]))


def count(tokenizer: Tokenizer, text: str) -> int:
    """Tokens of `text`: exact up to `COUNT_CHARS` characters, estimated from that part beyond."""
    if not text:
        return 0
    counted, end = 0, 0
    for start, end in _slices(text[:COUNT_CHARS]):
        counted += len(tokenizer.encode(text[start:end]))
    return counted if end >= len(text) else counted * len(text) // end


def _slices(text: str) -> Iterator[tuple[int, int]]:
    """(start, end) of slices that together are `text`."""
    start = 0
    while start < len(text):
        end = min(start + SLICE_CHARS, len(text))
        if end < len(text):
            # Without a line start in the second half of a slice the cut falls inside a line: the ids there
            # may differ by a token from those of the whole, which no answer depends on.
            starts = [m.end() for m in _LINE_START.finditer(text, start + SLICE_CHARS // 2, end + 1)]
            end = starts[-1] if starts else end
        yield start, end
        start = end
