"""The scope's end where indentation makes the blocks (Python)."""

from __future__ import annotations

import re

from codex.guard.cut import Cut
from codex.guard.fim.context import FimContext
from codex.guard.fim.lexer import OPENERS, Scan
from codex.guard.fim.lines import Line, indent_of, lines_of

_DEFINITION = re.compile(r"\s*(?:(?:async\s+)?def\s|class\s|@|if\s+__name__\b)")
_DEFINES = re.compile(r"\s*(?:(?:async\s+)?def|class)\s")
_CONTINUES = re.compile(r"\s*(?:else|elif|except|finally|case)\b")
LONGEST_WORD = 12
"""So many characters of a line show whether it begins a definition."""


def end_of_indent(text: str, ctx: FimContext, final: bool) -> Cut:
    """Ends before the first line that is indented less than the cursor's block, or that, level with it,
    begins a definition after a block, or follows the definition that the cursor is in.
    """
    scanned = ctx.scan(text)
    depth_at = _Depth(scanned, ctx)
    lines = lines_of(text)
    block = _Block(ctx, lines[0])
    safe = _visible_end(lines[0], ctx)
    for line in lines[1:]:
        if not line.text.strip():
            continue
        if scanned.covered(line.start) or depth_at.line(line.start) > 0:
            safe = line.end
            continue
        if not line.ended and not final and block.undecided(line):
            return Cut(safe)
        if block.ends_before(line):
            return Cut(safe, stop=True)
        safe = line.end
    return Cut(len(text) if final or lines[-1].text.strip() else safe)


def _visible_end(first: Line, ctx: FimContext) -> int:
    return first.end if first.text.strip() or not ctx.on_blank else 0


class _Depth:
    """How many brackets stand open at a place of the answer, those of the cursor's statement included."""

    def __init__(self, scanned: Scan, ctx: FimContext) -> None:
        self._brackets = scanned.brackets
        self._next = 0
        self._depth = len(ctx.openers)

    def line(self, offset: int) -> int:
        while self._next < len(self._brackets) and self._brackets[self._next][0] < offset:
            self._depth += 1 if self._brackets[self._next][1] in OPENERS else -1
            self._next += 1
        return self._depth


class _Block:
    """The block that the cursor is in, as far as the answer has shown it."""

    def __init__(self, ctx: FimContext, first: Line) -> None:
        opening = ctx.statement if not ctx.on_blank else first.text
        self._started = bool(first.text.strip()) or bool(ctx.inside)
        self._base: int | None = indent_of(ctx.statement)
        if ctx.on_blank and not ctx.column and not ctx.inside and not ctx.openers:
            self._base = indent_of(first.text) if self._started else None
        self._defines = bool(_DEFINES.match(opening))
        self._decorates = opening.lstrip().startswith("@")
        self._deeper = False

    def undecided(self, line: Line) -> bool:
        """Whether an unfinished line may still turn out to end the block."""
        level = self._started and self._deeper and indent_of(line.text) == self._base
        return level and len(line.text.strip()) < LONGEST_WORD

    def ends_before(self, line: Line) -> bool:
        """Whether `line` stands outside; if not, it is taken in."""
        indent = indent_of(line.text)
        if not self._started:
            return self._start(line, indent)
        base = self._base or 0
        if indent < base:
            return True
        if indent > base:
            self._deeper = True
            return False
        if _CONTINUES.match(line.text):
            return False
        if self._deeper and (self._defines or _DEFINITION.match(line.text)):
            return True
        self._follow(line)
        return False

    def _start(self, line: Line, indent: int) -> bool:
        """The first line with something on it may leave the cursor's indentation: there is its block."""
        self._started = True
        if self._base is None or indent <= self._base:
            self._base = indent
            self._follow(line)
            self._deeper = False
        else:
            self._deeper = True
        return False

    def _follow(self, line: Line) -> None:
        if self._decorates or not self._defines:
            self._defines = bool(_DEFINES.match(line.text))
            self._decorates = line.text.lstrip().startswith("@")
            self._deeper = False
