"""Counts syntax errors with tree-sitter, in a window around the cursor. Knows grammars, no passes."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from tree_sitter import Language, Node, Parser

GRAMMARS = {
    "python": ("tree_sitter_python", "language"),
    "javascript": ("tree_sitter_javascript", "language"),
    "typescript": ("tree_sitter_typescript", "language_typescript"),
    "tsx": ("tree_sitter_typescript", "language_tsx"),
    "java": ("tree_sitter_java", "language"),
    "go": ("tree_sitter_go", "language"),
    "rust": ("tree_sitter_rust", "language"),
    "c": ("tree_sitter_c", "language"),
    "cpp": ("tree_sitter_cpp", "language"),
}
BEFORE_CHARS = 8_192
AFTER_CHARS = 4_096
"""What is parsed on each side of an answer: enough to see its block, and a few milliseconds at most."""

MOST_ERRORS = 200


def syntax_errors(prefix: str, text: str, suffix: str, language: str) -> int | None:
    """Errors and missing parts in the answer's surroundings with the answer in place; None: no such grammar.

    Surroundings may bring errors of their own: compare two answers, do not read one number alone.
    """
    if language not in GRAMMARS:
        return None
    source = _end(prefix) + text + _start(suffix)
    tree = Parser(_grammar(language)).parse(source.encode("utf-8", errors="replace"))
    return _count(tree.root_node)


def load_grammars() -> None:
    """Loads every grammar, so that no answer waits for one. Takes about ten milliseconds, once."""
    for language in GRAMMARS:
        _grammar(language)


@cache
def _grammar(language: str) -> Language:
    module, function = GRAMMARS[language]
    return Language(getattr(import_module(module), function)())


def _count(root: Node) -> int:
    found = 0
    pending = [root]
    while pending and found < MOST_ERRORS:
        node = pending.pop()
        found += node.is_error or node.is_missing
        pending.extend(child for child in node.children if child.has_error or child.is_missing)
    return found


def _end(prefix: str) -> str:
    """The end of `prefix` from a line start, best one that is not indented: there a window can begin."""
    if len(prefix) <= BEFORE_CHARS:
        return prefix
    window = prefix[-BEFORE_CHARS:]
    lines = window.split("\n")[1:]
    for number, line in enumerate(lines[: len(lines) // 2]):
        if line and not line[0].isspace() and line[0] not in ")]}":
            return "\n".join(lines[number:])
    return "\n".join(lines) or window


def _start(suffix: str) -> str:
    if len(suffix) <= AFTER_CHARS:
        return suffix
    return suffix[:AFTER_CHARS].rpartition("\n")[0]
