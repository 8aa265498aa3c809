"""Which brackets an answer has to close, from what stands open before the cursor and what closes after it."""

from __future__ import annotations

from dataclasses import dataclass

from codex.guard.fim.lexer import CLOSERS, OPENERS, Scan
from codex.guard.fim.lines import indent_of


@dataclass(frozen=True, slots=True)
class Bracket:
    """An unmatched bracket; `indent`: of its line; `at_edge`: on the cursor line; `first`: begins one."""

    char: str
    offset: int
    indent: int
    at_edge: bool
    first: bool


def unclosed(text: str, scanned: Scan) -> tuple[Bracket, ...]:
    """Openers of `text` that it does not close, outermost first."""
    stack: list[tuple[int, str]] = []
    for offset, char in scanned.brackets:
        if char in OPENERS:
            stack.append((offset, char))
        elif stack and OPENERS[stack[-1][1]] == char:
            stack.pop()
    last_line = text.rfind("\n") + 1
    return tuple(_bracket(text, offset, char, offset >= last_line) for offset, char in stack)


def unopened(text: str, scanned: Scan, edge: int) -> tuple[Bracket, ...]:
    """Closers of `text` that it does not open, in order. A closer of the wrong kind ends the search.

    Those before the offset `edge` stand on the cursor's line.
    """
    stack: list[str] = []
    found: list[tuple[int, str]] = []
    for offset, char in scanned.brackets:
        if char in OPENERS:
            stack.append(OPENERS[char])
        elif not stack:
            found.append((offset, char))
        elif stack.pop() != char:
            break
    return tuple(_bracket(text, offset, char, offset < edge) for offset, char in found)


def needed(openers: tuple[Bracket, ...], closers: tuple[Bracket, ...]) -> tuple[str, ...] | None:
    """The closers that the answer has to bring, innermost first; None where the two sides do not match.

    Closers on the cursor's line pair with openers on it (an editor inserts them in pairs). Others are placed
    by the indentation of their line, because a client may have cut short the text after the cursor.
    """
    pending = tuple(OPENERS[opener.char] for opener in reversed(openers))
    if not closers:
        return pending
    at_edge = [closer for closer in closers if closer.at_edge]
    count = _open_after_edge(openers, at_edge) if at_edge else _open_before(openers, closers)
    return None if count is None else pending[:count]


def _open_after_edge(openers: tuple[Bracket, ...], at_edge: list[Bracket]) -> int | None:
    """How many of the innermost openers the cursor's line leaves to the answer."""
    here = sum(opener.at_edge for opener in openers)
    surplus = max(0, here - len(at_edge))
    for count in range(surplus, len(openers)):
        if _fits(openers[: len(openers) - count], at_edge):
            return count
    return None


def _fits(openers: tuple[Bracket, ...], closers: list[Bracket]) -> bool:
    pairs = zip(reversed(openers), closers, strict=False)
    return len(openers) >= len(closers) and all(OPENERS[a.char] == b.char for a, b in pairs)


def _open_before(openers: tuple[Bracket, ...], closers: tuple[Bracket, ...]) -> int | None:
    first = closers[0]
    if first.first:
        for count, opener in enumerate(reversed(openers)):
            if OPENERS[opener.char] == first.char and opener.indent == first.indent:
                return count
    surplus = len(openers) - len(closers)
    outside_in = all(OPENERS[a.char] == b.char for a, b in zip(openers, reversed(closers), strict=False))
    return surplus if surplus >= 0 and outside_in else None


def _bracket(text: str, offset: int, char: str, at_edge: bool) -> Bracket:
    start = text.rfind("\n", 0, offset) + 1
    first = not text[start:offset].strip() or (char in CLOSERS and not text[start:offset].strip(")]} \t"))
    return Bracket(char, offset, indent_of(text[start : offset + 1]), at_edge, first)
