"""Stop strings: never sent, wherever chunks split."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex.guard import StopStrings

CASES = [
    (("\n\n",), "a\nb\n\nc", "a\nb", True),
    (("END",), "text END more", "text ", True),
    (("END",), "text EN", "text EN", False),
    (("END",), "ENEND", "EN", True),
    (("abcd", "b"), "xabcd", "xa", True),
    (("ab", "abc"), "xabc", "x", True),
    (("a", "ba"), "cba", "c", True),
    ((), "anything", "anything", False),
    (("",), "anything", "anything", False),
    (("é",), "cafés", "caf", True),
    (("aab",), "aaab", "a", True),
    (("```",), "``code``", "``code``", False),
]


def stream(stops: tuple[str, ...], chunks: list[str]) -> tuple[str, bool]:
    cleaner = StopStrings(stops)
    out = ""
    for chunk in chunks:
        text, stop = cleaner.push(chunk)
        out += text
        if stop:
            return out, True
    return out + cleaner.finish(), False


@pytest.mark.parametrize(("stops", "text", "expected", "stopped"), CASES)
def test_text_ends_before_the_first_complete_stop_string(
    stops: tuple[str, ...], text: str, expected: str, stopped: bool
) -> None:
    assert stream(stops, [text]) == (expected, stopped)
    assert stream(stops, list(text)) == (expected, stopped)


def test_the_table_is_complete() -> None:
    assert len(CASES) == 12


@given(
    st.lists(st.text("ab\n", min_size=1, max_size=4), max_size=3),
    st.lists(st.text("ab\n", max_size=5), max_size=8),
)
def test_every_chunking_gives_the_same(stops: list[str], chunks: list[str]) -> None:
    whole = "".join(chunks)
    assert stream(tuple(stops), chunks) == stream(tuple(stops), [whole])
    assert stream(tuple(stops), list(whole)) == stream(tuple(stops), [whole])
    assert not any(stop in stream(tuple(stops), chunks)[0] for stop in stops)


def test_nothing_comes_after_the_stop() -> None:
    cleaner = StopStrings(["x"])
    assert cleaner.push("ax") == ("a", True)
    assert cleaner.push("b") == ("", True)
    assert cleaner.finish() == ""


def test_text_that_cannot_begin_a_stop_string_leaves_at_once() -> None:
    cleaner = StopStrings(["STOP"])
    assert cleaner.push("code ST").text == "code "
    assert cleaner.push("ART").text == "START"
