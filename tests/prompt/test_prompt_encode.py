"""Only what can matter is encoded; counts stay right."""

from __future__ import annotations

import pytest

from codex.engine.mock import ByteTokenizer
from codex.prompt.encode import COUNT_CHARS, SLICE_CHARS, count, encode_head, encode_tail


class Counting(ByteTokenizer):
    """Remembers how much it was asked to encode."""

    def __init__(self) -> None:
        self.chars = 0
        self.longest = 0

    def encode(self, text: str) -> list[int]:
        self.chars += len(text)
        self.longest = max(self.longest, len(text))
        return super().encode(text)


TEXT = "".join(f"line_{number} = {number}\n" for number in range(20_000))


@pytest.mark.parametrize("limit", [0, 1, 100, 50_000])
def test_head_and_tail_are_the_ends_of_the_whole(limit: int) -> None:
    tokenizer = ByteTokenizer()
    whole = tokenizer.encode(TEXT[:200_000])
    head, tail = encode_head(tokenizer, TEXT[:200_000], limit), encode_tail(tokenizer, TEXT[:200_000], limit)
    assert list(head.tokens) == whole[:limit]
    assert list(tail.tokens) == (whole[-limit:] if limit else [])
    assert head.total == tail.total == len(whole)


def test_a_short_text_is_whole() -> None:
    tail = encode_tail(ByteTokenizer(), "abc", 10)
    assert (tail.tokens, tail.left_out) == (tuple(b"abc"), 0)
    assert encode_tail(ByteTokenizer(), "", 10).total == encode_head(ByteTokenizer(), "", 10).total == 0


def test_a_huge_text_is_encoded_in_slices_and_only_in_part() -> None:
    tokenizer = Counting()
    huge = TEXT * 20
    tail = encode_tail(tokenizer, huge, 1000)
    assert tokenizer.longest <= SLICE_CHARS
    assert tokenizer.chars <= COUNT_CHARS + 2 * SLICE_CHARS
    assert tail.total == pytest.approx(len(huge), rel=0.02)


def test_one_endless_line_is_sliced_too() -> None:
    tokenizer = Counting()
    assert encode_head(tokenizer, "x" * 100_000, 200_000).total == 100_000
    assert tokenizer.longest <= SLICE_CHARS


def test_counts_are_exact_below_the_limit() -> None:
    assert count(ByteTokenizer(), TEXT[:COUNT_CHARS]) == COUNT_CHARS
    assert count(ByteTokenizer(), "") == 0
