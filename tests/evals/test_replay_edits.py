"""Two versions of a file, cut into edits, give the new version back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex.errors import EvaluationError
from codex.evals.replay import Edit, Selection, load_edits
from codex.evals.replay.edits import edits_of_file, hunks_between, lines_of
from codex.evals.replay.languages import language_of, typed_by_path, typed_by_text

LINE = st.sampled_from(["", "a", "b", "    c", "x\x0cy", "\u2028", "é = 1", "}"])
FILE = st.builds(
    lambda lines, end: "\n".join(lines) + ("\n" if end and lines else ""),
    st.lists(LINE, max_size=14),
    st.booleans(),
)


def apply_all(old: str, new: str, max_lines: int) -> str:
    """Follows the buffer through every edit; deletions without typing come from the hunks."""
    edits = list(edits_of_file("f.py", "python", old, new, max_lines=max_lines))
    lines = lines_of(old)
    buffer, at, done = old, 0, 0
    typed: list[str] = []
    for hunk in hunks_between(old, new):
        typed += lines[at : hunk.start]
        at = hunk.stop
        rest = "".join(lines[at:])
        buffer = "".join(typed) + rest
        added = ""
        while added != "".join(hunk.added):
            edit = edits[done]
            assert buffer == edit.before + edit.after
            buffer = edit.buffer
            added += edit.text + edit.ending
            done += 1
        typed += hunk.added
    assert done == len(edits)
    return buffer


@given(FILE, FILE, st.integers(1, 5))
def test_typing_every_edit_of_a_file_gives_the_new_file(old: str, new: str, max_lines: int) -> None:
    assert apply_all(old, new, max_lines) == new


def test_deleted_lines_are_gone_before_the_new_ones_are_typed() -> None:
    (edit,) = edits_of_file("f.py", "python", "a\nold\nz\n", "a\nnew = 1\nz\n", max_lines=4)
    assert (edit.before, edit.text, edit.ending, edit.after) == ("a\n", "new = 1", "\n", "z\n")
    assert edit.id == "f.py:2"


def test_a_long_hunk_is_cut_at_its_blank_lines_and_earlier_pieces_stand_in_the_buffer() -> None:
    new = "a = 1\n\nb = 2\nc = 3\nd = 4\n"
    pieces = list(edits_of_file("f.py", "python", "", new, max_lines=3))
    assert [piece.text for piece in pieces] == ["a = 1\n", "b = 2\nc = 3\nd = 4"]
    assert pieces[1].before == "a = 1\n\n"


def snapshot(files: int, lines: int, mark: str) -> dict[str, str]:
    return {
        f"pkg/m{file}.py": "".join(
            f"name_{file}_{line} = {mark}{line}\n" if line % 3 == 0 else f"same_{line} = {line}\n"
            for line in range(lines)
        )
        for file in range(files)
    }


OLD, NEW = snapshot(4, 30, "1"), snapshot(4, 30, "2")


def test_a_sample_is_seeded_and_in_typing_order() -> None:
    picked = load_edits(OLD, NEW, Selection(edits=12, seed=3))
    again = load_edits(OLD, NEW, Selection(edits=12, seed=3))
    other = load_edits(OLD, NEW, Selection(edits=12, seed=4))
    assert picked == again
    assert [edit.id for edit in picked] != [edit.id for edit in other]
    assert len(picked) == 12
    places = [(edit.path, int(edit.id.rpartition(":")[2])) for edit in picked]
    assert places == sorted(places)


def test_a_sample_is_made_of_neighbours() -> None:
    picked = load_edits(OLD, NEW, Selection(edits=10, run=5))
    assert len({edit.path for edit in picked}) <= 2


def test_open_files_are_those_edited_before_in_their_new_version() -> None:
    picked = load_edits(OLD, NEW, Selection(edits=40))
    last = [edit for edit in picked if edit.path == "pkg/m2.py"][-1]
    assert [file.path for file in last.context] == ["pkg/m0.py", "pkg/m1.py"]
    assert last.context[1].text == NEW["pkg/m1.py"]


def test_an_edit_follows_when_it_goes_on_where_the_last_one_ended() -> None:
    new = {"a.py": "first = 1\nsecond = 2\nkept = 0\nthird = 3\n"}
    picked = load_edits({"a.py": "kept = 0\n"}, new, Selection(max_lines=1))
    assert [(edit.text, edit.follows) for edit in picked] == [
        ("first = 1", False),
        ("second = 2", True),
        ("third = 3", False),
    ]


def test_a_moved_file_is_compared_with_where_it_came_from() -> None:
    text = "".join(f"value_{n} = {n}\n" for n in range(20))
    picked = load_edits({"a/old.py": text}, {"b/new.py": text + "added = 1\n"})
    assert [edit.text for edit in picked] == ["added = 1"]


def test_sizes_are_capped() -> None:
    new = {"a.py": "x = 1\n\n" + "y = '" + "z" * 300 + "'\n" + "\n)\n"}
    texts = [edit.text for edit in load_edits({}, new, Selection(max_lines=1))]
    assert texts == ["x = 1\n"]


def test_equal_versions_are_a_clear_error() -> None:
    with pytest.raises(EvaluationError, match="nothing to type"):
        load_edits(OLD, OLD)


def test_languages_narrow_the_sample() -> None:
    new = {"a.py": "x = 1\n", "b.go": "var x = 1\n"}
    picked: list[Edit] = load_edits({}, new, Selection(languages=frozenset({"go"})))
    assert [edit.language for edit in picked] == ["go"]


@pytest.mark.parametrize(
    "path",
    [
        "node_modules/a.js",
        "pkg/_vendor/x.py",
        "a-1.dist-info/x.py",
        "x.min.js",
        "api_pb2.py",
        "README.md",
        "a.json",
    ],
)
def test_files_that_nobody_types_are_left_out(path: str) -> None:
    assert not typed_by_path(path)


def test_generated_and_minified_text_is_left_out() -> None:
    assert not typed_by_text("# Code generated by tool. DO NOT EDIT.\nx = 1\n")
    assert not typed_by_text("x = [" + "1," * 400 + "]\n")
    assert typed_by_text("x = 1\n" * 50)
    assert language_of("src/a.tsx") == "typescript"
