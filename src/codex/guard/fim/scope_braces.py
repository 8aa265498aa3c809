"""The scope's end where braces make the blocks."""

from __future__ import annotations

import re

from codex.guard.cut import Cut
from codex.guard.fim.context import FimContext
from codex.guard.fim.lexer import OPENERS
from codex.guard.fim.lines import Line, lines_of

_DECLARES = re.compile(
    r"\s*(?:(?:export|default|public|private|protected|internal|static|async|final|abstract|override|virtual"
    r"|inline|pub(?:\([^)]*\))?|unsafe|extern)\s+)*"
    r"(?:(?:function|class|interface|struct|enum|trait|impl|fn|func|namespace|mod)\b"
    r"|(?:const|let|var)\s+\w+\s*=\s*(?:async\s*)?(?:function\b|(?:\([^)]*\)|\w+)\s*=>))"
)
_METHOD = re.compile(
    r"\s*+(?!(?:if|for|while|switch|catch|return|else|do|try|new|await|throw|case)\b)"
    r"[\w<>\[\],*&:~ ]+\([^;{]*\)[^;={]*\{"
)
_CLOSES = re.compile(r"\s*[)\]}]")
_CONTINUES = re.compile(r"\s*(?:(?:else|catch|finally|while)\b|[)\]}.,;?:&|+])")
LONGEST_WORD = 9
"""So many characters of a line show whether it goes on with the statement before."""


def end_of_braces(text: str, ctx: FimContext, final: bool) -> Cut:
    """Ends behind the line that closed the cursor's block, behind the declaration that the cursor is in, and
    before a declaration that follows a block.
    """
    block = _Block(ctx.scan(text).brackets)
    lines = lines_of(text)
    own = _declared_here(ctx, lines[0])
    safe, started = 0, bool(ctx.inside)
    for number, line in enumerate(lines):
        if number and started and line.text.strip() and block.ended:
            if not line.ended and not final and _undecided(line, block.depth, own):
                return Cut(safe)
            if _stops_before(line, block.depth, own):
                return Cut(safe, stop=True)
        block.read(line.end)
        if line.text.strip():
            safe, started = line.end, True
    return Cut(len(text) if final or lines[-1].text.strip() else safe)


class _Block:
    """How deep in braces the answer is, the cursor's block being 0."""

    def __init__(self, brackets: tuple[tuple[int, str], ...]) -> None:
        self._braces = [(offset, char) for offset, char in brackets if char in "{}"]
        self._next = 0
        self._opened = False
        self.depth = 0

    @property
    def ended(self) -> bool:
        """Whether the cursor's block, or one inside it, is complete."""
        return self.depth < 0 or (self.depth == 0 and self._opened)

    def read(self, end: int) -> None:
        while self._next < len(self._braces) and self._braces[self._next][0] < end:
            self.depth += 1 if self._braces[self._next][1] in OPENERS else -1
            self._opened |= self.depth > 0
            self._next += 1


def _undecided(line: Line, depth: int, own: bool) -> bool:
    if depth < 0:
        return False
    return len(line.text.strip()) < LONGEST_WORD if own else True


def _stops_before(line: Line, depth: int, own: bool) -> bool:
    if depth < 0:
        return not _CLOSES.match(line.text)
    return not _CONTINUES.match(line.text) and (own or _declares(line.text))


def _declared_here(ctx: FimContext, first: Line) -> bool:
    """Whether the answer begins in the head of a declaration, or with one."""
    inside_body = any(opener.at_edge and opener.char == "{" for opener in ctx.openers)
    return not inside_body and first.ended and _declares(ctx.before + first.text)


def _declares(line: str) -> bool:
    return bool(_DECLARES.match(line) or _METHOD.match(line))
