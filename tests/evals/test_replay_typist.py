"""Keys and their rhythm: what counts as typed, and how long people wait before it."""

from __future__ import annotations

from pathlib import Path
from statistics import mean, median

import pytest

import codex
from codex.evals.replay.edits import Edit, edits_of_file
from codex.evals.replay.keys import KeyKind, script_of
from codex.evals.replay.suggestion import accepted_state, first_line_is_right, partial_saving, remainder
from codex.evals.replay.typist import gaps_ms


def edit(text: str, before: str = "", after: str = "", language: str = "python") -> Edit:
    return Edit("f.py:1", "f.py", language, before, text, "\n", after)


def own_code() -> list[Edit]:
    root = Path(codex.__file__).parent
    files = [root / "types.py", root / "errors.py", root / "evals" / "replay" / "session.py"]
    return [
        piece
        for file in files
        for piece in edits_of_file(file.name, "python", "", file.read_text(), max_lines=4)
        if piece.text.strip()
    ]


def test_the_last_state_of_every_edit_is_its_text() -> None:
    edits = own_code()
    for each in edits:
        script = script_of(each)
        assert len(script.states) == script.keys + 1
        typed = [line.rstrip() for line in script.states[-1].split("\n")]
        assert typed == [line.rstrip() for line in each.text.split("\n")]
    assert len(edits) > 50


def test_indentation_that_the_editor_gives_is_not_typed() -> None:
    script = script_of(edit("    if a:\n        b()", before="def f(a):\n    call()\n"))
    assert script.states[0] == "    "
    assert script.keys == len("if a:") + 1 + len("b()")


def test_wrong_indentation_costs_one_key_and_hides_the_rest_of_the_line() -> None:
    script = script_of(edit("x = 1", before="def f():\n    call()\n"))
    assert script.states[:2] == ("    ", "")
    assert script.rest_of_line(0) is None
    assert script.rest_of_line(1) == "x = 1"
    assert script.keys == 1 + len("x = 1")


@pytest.mark.parametrize(
    ("before", "unit"),
    [("if a:\n  b = 1\nc:\n", "  "), ("if x {\n\ty()\n}\nif z {\n", "\t"), ("a = [\n", "    ")],
)
def test_the_editor_indents_by_the_step_of_the_file(before: str, unit: str) -> None:
    assert script_of(edit(f"{unit}q", before=before)).states[0] == unit


@pytest.mark.parametrize(
    ("before", "indent"),
    [
        ("def f():\n    return 2\n", ""),
        ("def f():\n    return g(\n", "        "),
        ("def f():\n    returned = 2\n", "    "),
    ],
)
def test_a_statement_that_ends_its_block_takes_the_indentation_back(before: str, indent: str) -> None:
    assert script_of(edit("x", before=before)).states[0] == indent


def test_blank_lines_are_one_key_and_leave_no_white_space() -> None:
    script = script_of(edit("    a = 1\n\n    b = 2", before="def f():\n"))
    assert script.states[-1] == "    a = 1\n\n    b = 2"
    assert script.keys == 5 + 1 + 1 + 5


def test_people_type_five_characters_a_second_on_ordinary_code() -> None:
    gaps = [gap for each in own_code() for gap in gaps_ms(script_of(each).kinds, seed=each.id)[1:]]
    assert mean(gaps) == pytest.approx(200, rel=0.12)


def test_pauses_are_longer_before_words_and_longest_before_lines() -> None:
    kinds = [KeyKind.INSIDE, *[KeyKind.INSIDE, KeyKind.WORD, KeyKind.LINE] * 400]
    gaps = gaps_ms(kinds, seed="x")
    by_kind = {
        kind: [gap for gap, of in zip(gaps[1:], kinds[1:], strict=True) if of is kind] for kind in KeyKind
    }
    middle = {kind: median(values) for kind, values in by_kind.items()}
    assert middle[KeyKind.INSIDE] * 1.5 < middle[KeyKind.WORD] < middle[KeyKind.LINE] / 1.5
    assert mean(by_kind[KeyKind.INSIDE]) > middle[KeyKind.INSIDE]


def test_a_place_that_follows_needs_no_time_to_be_found() -> None:
    kinds = [KeyKind.LINE, *[KeyKind.INSIDE] * 5]
    near = [gaps_ms(kinds, seed=str(n), follows=True) for n in range(200)]
    far = [gaps_ms(kinds, seed=str(n)) for n in range(200)]
    assert median(gaps[0] for gaps in near) * 2 < median(gaps[0] for gaps in far)
    assert near[0][1:] == far[0][1:]


def test_speed_scales_the_gaps_and_the_seed_decides_them() -> None:
    kinds = [KeyKind.INSIDE] * 50
    slow, fast = gaps_ms(kinds, seed="x", characters_per_s=2.5), gaps_ms(kinds, seed="x")
    assert slow[1:] == pytest.approx([gap * 2 for gap in fast[1:]])
    assert gaps_ms(kinds, seed="x") == fast
    assert gaps_ms(kinds, seed="y") != fast


def test_a_right_first_line_is_accepted_to_its_end() -> None:
    script = script_of(edit("return a + b"))
    assert accepted_state(script, 7, "a + b") == script.keys
    assert accepted_state(script, 7, "a + b  ") == script.keys
    assert accepted_state(script, 7, "a + c") is None
    assert accepted_state(script, 7, "a +") is None
    assert first_line_is_right(script, 7, "a + b\nmore")


def test_right_lines_after_the_first_are_taken_and_wrong_ones_left() -> None:
    script = script_of(edit("if a:\n    b()\n    c()"))
    assert accepted_state(script, 0, "if a:\n    b()\n    wrong()") == script.ends[1]
    assert accepted_state(script, 0, "if a:\n    b()\n    c()\n    d()") == script.ends[2]
    assert accepted_state(script, 0, "if a:\n  b()") == script.ends[0]


def test_at_the_end_of_a_line_only_a_suggestion_that_goes_on_is_worth_a_key() -> None:
    script = script_of(edit("if a:\n    b()"))
    end = script.ends[0]
    assert accepted_state(script, end, "") is None
    assert accepted_state(script, end, "\n    b()") == script.ends[1]


@pytest.mark.parametrize(
    ("suggestion", "saved"),
    [
        ("value = other", len("value =") - 2),
        ("values = 1", 0),
        ("val", 0),
        ("x", 0),
        ("value = compute(b)", len("value = compute(") - 4),
    ],
)
def test_right_words_of_a_wrong_line_are_counted_apart(suggestion: str, saved: int) -> None:
    assert partial_saving(script_of(edit("value = compute(a)")), 0, suggestion) == saved


def test_typing_through_a_suggestion_leaves_its_rest_until_they_part() -> None:
    assert remainder("fo", "foo", "o(bar)") == "(bar)"
    assert remainder("fo", "fox", "o(bar)") is None
    assert remainder("a", "ab", "b") is None
    assert remainder("    ", "", "x") is None
