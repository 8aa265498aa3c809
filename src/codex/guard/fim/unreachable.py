"""No dead code below: an answer does not leave the block that the text after the cursor goes on with.

A model that does not know when to stop writes the `return` of a function whose end stands below already.
"""

from __future__ import annotations

import re

from codex.guard.cut import Cut
from codex.guard.fim.context import FimContext, steps_below
from codex.guard.fim.lines import indent_of, is_closing, lines_of
from codex.guard.language import Family

_LEAVES = re.compile(r"\s*(?:return|raise|throw|break|continue)\b")
_WORDS = ("return", "raise", "throw", "break", "continue")
_LABEL = re.compile(r"\s*(?:case\b.*|default\s*|else\b.*|elif\b.*|except\b.*|finally\b.*|\w+\s*):")


def leaves_code_reachable(text: str, ctx: FimContext, final: bool) -> Cut:
    """Ends before a `return` (or the like) at the level of the next line below. The first line may say it."""
    steps = steps_below(ctx)
    if (
        not steps
        or ctx.language.family is Family.PLAIN
        or is_closing(steps[0][1])
        or _LABEL.match(steps[0][1])
    ):
        return Cut(len(text))
    level = steps[0][0]
    scanned = ctx.scan(text)
    started = not ctx.on_blank and bool(text.split("\n", 1)[0].strip())
    safe = 0
    for number, line in enumerate(lines_of(text)):
        if not line.text.strip():
            continue
        if started and number and indent_of(line.text) == level and not scanned.covered(line.start):
            if not line.ended and not final and _may_leave(line.text):
                return Cut(safe)
            if _LEAVES.match(line.text) and not _open_brackets(scanned.brackets, line.start):
                return Cut(safe, stop=True)
        started = True
        safe = line.end
    return Cut(len(text) if final or text[safe:] == "" else safe)


def _may_leave(line: str) -> bool:
    word = line.strip()
    return any(known.startswith(word) for known in _WORDS)


def _open_brackets(brackets: tuple[tuple[int, str], ...], offset: int) -> bool:
    """Whether the answer has a bracket open at `offset`: then indentation says little."""
    depth = 0
    for at, char in brackets:
        if at < offset:
            depth += 1 if char in "([{" else -1
    return depth > 0
