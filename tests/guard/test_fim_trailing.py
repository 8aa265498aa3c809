"""Golden cases of `trailing`: no blank at the end."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from codex.guard.fim.trailing import no_trailing_blank

# Language, source with the cursor at ‸, what the model wrote, what is left of it.
CASES = [
    ("python", "x = ‸\n", "1  \n\n", "1"),
    ("python", "x = ‸", "1\n", "1"),
    ("python", "‸y = 2\n", "x = 1\n", "x = 1\n"),
    ("python", "‸    y = 2\n", "x = 1\n\n\n    ", "x = 1\n"),
    ("python", "x = ‸ + 1\n", "a ", "a "),
    ("python", "x = ‸\n", "  \n\n", ""),
    ("python", "‸y\n", "\n  \n", ""),
    ("javascript", "foo(‸);\n", "a, ", "a, "),
    ("javascript", "{\n  ‸\n}\n", "go();\n  ", "go();"),
    ("typescript", "let a = ‸\r\n", "1;\r\n", "1;"),
    ("java", "    ‸\n", "int a;\t\n", "int a;"),
    ("go", "\t‸\n", "a := 1\n\t", "a := 1"),
    ("rust", "    ‸Ok(())\n", "go();\n    ", "go();\n    "),
    ("cpp", "    ‸\n", "\n\n", ""),
]


@pytest.mark.parametrize(("language", "source", "answer", "expected"), CASES)
def test_the_end_has_no_blank(
    clean: Callable[..., str], language: str, source: str, answer: str, expected: str
) -> None:
    assert clean(language, source, answer, no_trailing_blank) == expected


def test_the_table_is_complete() -> None:
    assert len(CASES) == 14
