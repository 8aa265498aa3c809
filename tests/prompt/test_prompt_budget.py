"""Sharing a window and cutting at lines."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex.engine.mock import ByteTokenizer
from codex.errors import ContextLengthExceeded
from codex.prompt.budget import keep_end, keep_start, room_for_prompt, share

TOKENIZER = ByteTokenizer()


def ids(text: str) -> tuple[int, ...]:
    return tuple(TOKENIZER.encode(text))


@pytest.mark.parametrize(
    ("prefix", "suffix", "room", "expected"),
    [
        (1000, 1000, 400, (300, 100)),
        (1000, 50, 400, (350, 50)),
        (100, 1000, 400, (100, 300)),
        (10, 10, 400, (10, 10)),
        (1000, 0, 400, (400, 0)),
        (0, 1000, 400, (0, 400)),
    ],
)
def test_a_window_is_shared_three_to_one(
    prefix: int, suffix: int, room: int, expected: tuple[int, int]
) -> None:
    assert share(prefix, suffix, room) == expected


@given(st.integers(0, 5000), st.integers(0, 5000), st.integers(0, 3000))
def test_a_share_fits_and_wastes_nothing(prefix: int, suffix: int, room: int) -> None:
    for_prefix, for_suffix = share(prefix, suffix, room)
    assert 0 <= for_prefix <= prefix
    assert 0 <= for_suffix <= suffix
    assert for_prefix + for_suffix == min(room, prefix + suffix)


def test_the_end_begins_at_a_line() -> None:
    assert keep_end(TOKENIZER, ids("aaaa\nbbbb\ncccc\n"), 12) == ids("bbbb\ncccc\n")


def test_the_start_ends_at_a_line() -> None:
    assert keep_start(TOKENIZER, ids("aaaa\nbbbb\ncccc\n"), 12) == ids("aaaa\nbbbb\n")


def test_without_a_line_near_the_cut_is_between_characters() -> None:
    text = "é" * 40
    end = bytes(keep_end(TOKENIZER, ids(text), 21)).decode()
    start = bytes(keep_start(TOKENIZER, ids(text), 21)).decode()
    assert end == start == "é" * 10


@given(st.text(max_size=60), st.integers(0, 80))
def test_what_is_kept_is_valid_text_and_fits(text: str, limit: int) -> None:
    for kept, edge in (
        (keep_end(TOKENIZER, ids(text), limit), text.endswith),
        (keep_start(TOKENIZER, ids(text), limit), text.startswith),
    ):
        assert len(kept) <= limit or len(ids(text)) <= limit
        assert edge(bytes(kept).decode())


def test_max_tokens_has_to_leave_room() -> None:
    assert room_for_prompt(100, 99) == 1
    for max_tokens in (100, 101):
        with pytest.raises(ContextLengthExceeded, match=f"max_tokens is {max_tokens}.*100") as caught:
            room_for_prompt(100, max_tokens)
        assert caught.value.param == "max_tokens"
