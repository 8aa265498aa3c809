"""Golden cases of `single_line`: the answer ends with its first visible line."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from codex.guard.fim.single_line import first_line_only

# Language, source with the cursor at ‸, what the model wrote, what is left of it.
CASES = [
    ("python", "x = ‸\n", "1\ny = 2\n", "1"),
    ("python", "x = ‸\n", "1", "1"),
    ("python", "if x:‸\n", "\n    return 1\n    return 2\n", "\n    return 1"),
    ("python", "‸\n", "\n\nx = 1\n\n", "\n\nx = 1"),
    ("python", "‸\n", "x = foo(\n    a)\n", "x = foo("),
    ("javascript", "const a = ‸\n", "1;\nconst b = 2;\n", "1;"),
    ("javascript", "foo(‸)\n", "a, b", "a, b"),
    ("typescript", "let a: ‸\n", "string;\n\n", "string;"),
    ("java", "int a = ‸\n", "0;\n", "0;"),
    ("go", "x := ‸\n", "1\n\treturn x\n", "1"),
    ("rust", "let x = ‸\n", "match y {\n    1 => 2,\n};\n", "match y {"),
    ("cpp", "auto x = ‸\n", "1;\n", "1;"),
]


@pytest.mark.parametrize(("language", "source", "answer", "expected"), CASES)
def test_one_visible_line_is_left(
    clean: Callable[..., str], language: str, source: str, answer: str, expected: str
) -> None:
    assert clean(language, source, answer, first_line_only, single_line=True) == expected


@pytest.mark.parametrize(("language", "source", "answer"), [case[:3] for case in CASES])
def test_without_the_mode_nothing_is_cut(
    clean: Callable[..., str], language: str, source: str, answer: str
) -> None:
    assert clean(language, source, answer, first_line_only) == answer


def test_the_table_is_complete() -> None:
    assert len(CASES) == 12
