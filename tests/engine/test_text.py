"""Token ids become the same text however they are split."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from codex.engine.mock import SPECIAL_TOKENS, ByteTokenizer
from codex.engine.text import TokenDecoder


def decoded(pieces: list[list[int]]) -> str:
    decoder = TokenDecoder(ByteTokenizer())
    return "".join(map(decoder.push, pieces)) + decoder.finish()


@st.composite
def split_ids(draw: st.DrawFn) -> tuple[list[int], list[list[int]]]:
    ids = draw(st.lists(st.integers(0, 255 + len(SPECIAL_TOKENS)), max_size=60))
    cuts = sorted(draw(st.lists(st.integers(0, len(ids)), max_size=8)))
    edges = [0, *cuts, len(ids)]
    return ids, [ids[a:b] for a, b in pairwise(edges)]


@given(split_ids())
def test_any_split_of_the_ids_gives_the_same_text(case: tuple[list[int], list[list[int]]]) -> None:
    ids, pieces = case
    raw = b"".join(map(ByteTokenizer().token_bytes, ids))
    assert decoded(pieces) == decoded([ids]) == raw.decode("utf-8", "replace")


@given(st.text())
def test_text_sent_byte_by_byte_arrives_whole_and_no_piece_is_half_a_character(text: str) -> None:
    decoder = TokenDecoder(ByteTokenizer())
    pieces = [decoder.push([byte]) for byte in text.encode("utf-8")]
    assert "".join(pieces) == text
    assert decoder.finish() == ""


def test_an_unfinished_character_is_held_back_until_the_end() -> None:
    decoder = TokenDecoder(ByteTokenizer())
    assert decoder.push("é".encode()[:1]) == ""
    assert decoder.finish() == "\ufffd"


def test_special_tokens_give_no_text_even_inside_a_character() -> None:
    first, second = "é".encode()
    assert decoded([[first, SPECIAL_TOKENS["<|im_end|>"]], [second]]) == "é"


def test_a_decoder_is_fresh_after_finish() -> None:
    decoder = TokenDecoder(ByteTokenizer())
    decoder.push(b"\xf0\x9f")
    decoder.finish()
    assert decoder.push(b"a") == "a"
