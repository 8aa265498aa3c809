"""Languages by name, by path, by look."""

from __future__ import annotations

import pytest

from codex.guard.language import Family, detect

NAMED = [
    ("python", None, "python"),
    ("Python3", None, "python"),
    ("ts", None, "typescript"),
    ("typescriptreact", None, "tsx"),
    ("C++", None, "cpp"),
    ("golang", None, "go"),
    (None, "src/app/main.rs", "rust"),
    (None, "Main.java", "java"),
    (None, "lib.hpp", "cpp"),
    (None, "x.mjs", "javascript"),
    ("plaintext", "a.py", "python"),
    ("klingon", None, "unknown"),
    (None, "notes.txt", "unknown"),
]


@pytest.mark.parametrize(("name", "path", "expected"), NAMED)
def test_a_name_or_a_path_decides(name: str | None, path: str | None, expected: str) -> None:
    assert detect(name, path, "def f():\n    pass\n").name == expected


def test_the_table_is_complete() -> None:
    assert len(NAMED) == 13


def test_text_alone_is_guessed() -> None:
    assert detect(None, None, "def f(x):\n    if x:\n        ").name == "python"
    assert detect(None, None, "int f() {\n  a();\n", "}\n").family is Family.BRACES
    assert detect(None, None, "Dear reader,\n").family is Family.PLAIN
