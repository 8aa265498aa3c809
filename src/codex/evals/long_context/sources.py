"""Real Python files to hide things in and to read whole: a folder, by default the standard library."""

from __future__ import annotations

import ast
import sysconfig
from itertools import pairwise
from pathlib import Path

from codex.errors import EvaluationError
from codex.types import SourceFile

_LEFT_OUT = {
    "site-packages",
    "dist-packages",
    "test",
    "tests",
    "idlelib",
    "lib2to3",
    "encodings",
    "pydoc_data",
}
"""Tests and tables: the first are alike, the second are no code."""
_CODE_LINES_A_DEFINITION = 60


def read_sources(folder: Path | None = None) -> tuple[SourceFile, ...]:
    """Every module of real code under `folder`, by path.

    Raises EvaluationError: there is none.
    """
    root = folder or Path(sysconfig.get_paths()["stdlib"])
    found = []
    for path in sorted(root.rglob("*.py")):
        relative = path.relative_to(root)
        if not _LEFT_OUT.intersection(relative.parts):
            text = _text(path)
            if _is_code(text):
                found.append(SourceFile(relative.as_posix(), text))
    if not found:
        raise EvaluationError(f"there is no Python code in {root}: name another folder with --source")
    return tuple(found)


def _text(path: Path) -> str:
    """Empty for what is not UTF-8: such a file is a test of encodings, not code to learn from."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return ""


def _is_code(text: str) -> bool:
    """At least one definition in so many lines; tables of data have fewer."""
    lines = text.count("\n")
    definitions = text.count("def ") + text.count("class ")
    return lines > 30 and definitions * _CODE_LINES_A_DEFINITION >= lines


def pieces(source: SourceFile) -> tuple[str, ...]:
    """The file cut before its top-level statements, with the comments above each; whole when joined.

    Raises SyntaxError: the file is not Python of this version.
    """
    lines = source.text.splitlines(keepends=True)
    starts = sorted({_start(node, lines) for node in ast.parse(source.text).body} - {0})
    edges = [0, *starts, len(lines)]
    return tuple("".join(lines[a:b]) for a, b in pairwise(edges) if b > a)


def _start(node: ast.stmt, lines: list[str]) -> int:
    """Index of the node's first line, decorators and comments above included."""
    line = node.lineno - 1
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and node.decorator_list:
        line = node.decorator_list[0].lineno - 1
    while line > 0 and lines[line - 1].startswith("#"):
        line -= 1
    return line
