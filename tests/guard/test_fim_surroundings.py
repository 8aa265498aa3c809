"""What is read from the code around the cursor: brackets, strings, blocks, lines."""

from __future__ import annotations

import pytest

from codex.guard import load_grammars
from codex.guard.fim.context import WINDOW_CHARS, FimContext, steps_below
from codex.guard.fim.lexer import scan
from codex.guard.fim.parse import GRAMMARS, syntax_errors
from codex.guard.language import LANGUAGES


def around(language: str, source: str) -> FimContext:
    prefix, suffix = source.split("‸")
    return FimContext.around(prefix, suffix, LANGUAGES[language])


NEEDED = [
    ("python", "foo(‸)", ()),
    ("python", "foo(‸", (")",)),
    ("python", "foo(bar(‸)", (")",)),
    ("python", "foo([‸\n)", ("]",)),
    ("python", "x = '(' + f(‸)", ()),
    ("python", "# (\nf(‸)", ()),
    ("python", "a = '''(\n''' + f(‸", (")",)),
    ("javascript", "function f() {\n  if (a) {\n    ‸\n  }\n}", ()),
    ("javascript", "function f() {\n  if (a) {\n    ‸\n}", ("}",)),
    ("javascript", "class A {\n  f() {\n    ‸\n", ("}", "}")),
    ("javascript", "class A {\n  f() {\n    if (x) {\n      ‸\n    }\n", ()),
    ("javascript", "const r = /[(]/; f(‸)", ()),
    ("javascript", "const s = `(${a}`; f(‸", (")",)),
    ("javascript", "f(‸}", None),
    ("javascript", "for (;;) {\n  if (a) {\n    b();‸    }\n}\n", ()),
    ("javascript", "for (;;) {\n  if (a) {\n    b();\n‸}\n", ("}",)),
    ("rust", "fn f<'a>(x: &'a str) {\n    ‸\n}", ()),
    ("rust", "let c = '('; f(‸)", ()),
    ("cpp", 'auto s = R"(a ( b)"; f(‸', (")",)),
    ("go", "s := `(`\nf(‸)", ()),
]


@pytest.mark.parametrize(("language", "source", "expected"), NEEDED)
def test_the_brackets_an_answer_has_to_close(
    language: str, source: str, expected: tuple[str, ...] | None
) -> None:
    assert around(language, source).needed == expected


INSIDE = [
    ("python", '"""Doc ‸', '"""'),
    ("python", "x = 'a‸", "'"),
    ("python", "# note ‸", "\n"),
    ("python", "x = 'it\\'s‸", "'"),
    ("python", "x = 'a' ‸", None),
    ("javascript", "/* a ‸", "*/"),
    ("javascript", "x = `a ‸", "`"),
    ("java", "// a\nint b; ‸", None),
]


@pytest.mark.parametrize(("language", "source", "expected"), INSIDE)
def test_the_string_or_comment_at_the_cursor(language: str, source: str, expected: str | None) -> None:
    assert around(language, source).inside == expected


def test_the_tables_are_complete() -> None:
    assert (len(NEEDED), len(INSIDE)) == (20, 8)


def test_the_statement_begins_where_its_bracket_opens() -> None:
    assert around("python", "    x = foo(\n        ‸\n").statement == "    x = foo("
    assert around("python", "    x = 1\n    y‸\n").statement == "    y"
    assert around("javascript", "  if (a) {\n    b‸\n").statement == "    b"


def test_steps_lead_down_to_the_outer_blocks() -> None:
    ctx = around("python", "        ‸\n        a()\n            b()\n    c()\n        d()\ne()\n")
    assert [line.strip() for _, line in steps_below(ctx)] == ["a()", "c()", "e()"]


def test_a_huge_file_is_read_in_a_window() -> None:
    ctx = around("python", "x = (1)\n" * 200_000 + "y = (‸)\n" + "z = [1]\n" * 200_000)
    assert len(ctx.prefix) <= WINDOW_CHARS
    assert len(ctx.suffix) <= WINDOW_CHARS
    assert ctx.needed == ()


def test_an_escape_at_the_very_end_leaves_the_string_open() -> None:
    assert scan("'a)\\", LANGUAGES["python"]).brackets == ()
    assert scan("'''a)\\", LANGUAGES["python"]).brackets == ()


@pytest.mark.parametrize("language", sorted(GRAMMARS))
def test_every_grammar_tells_right_from_wrong(language: str) -> None:
    good = {
        "python": "x = 1\n",
        "go": "package a\n\nvar x = 1\n",
        "rust": "fn f() {}\n",
        "java": "class A {}\n",
    }
    text = good.get(language, "int x = 1;\n" if language in {"c", "cpp"} else "let x = 1;\n")
    assert syntax_errors("", text, "", language) == 0
    assert syntax_errors("", text + "(((", "", language) != 0


def test_a_language_without_a_grammar_has_no_count() -> None:
    assert syntax_errors("", "x", "", "cobol") is None


def test_only_a_window_around_the_cursor_is_parsed() -> None:
    fine = "def f():\n    return 1\n\n\n" * 2000
    broken = "def broken(((\n"
    assert syntax_errors(broken + fine, "x = 1\n", "\n" + fine + broken, "python") == 0


def test_grammars_can_be_loaded_ahead() -> None:
    load_grammars()
    assert set(GRAMMARS) <= set(LANGUAGES)
