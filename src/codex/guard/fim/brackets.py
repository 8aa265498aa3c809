"""No bracket that the text after the cursor closes already: an answer ends before a closer nobody opened."""

from __future__ import annotations

from codex.guard.cut import Cut
from codex.guard.fim.context import FimContext
from codex.guard.fim.lexer import LOOKAHEAD, OPENERS


def closes_only_its_own(text: str, ctx: FimContext, final: bool) -> Cut:
    """The answer may close what it opened and, in their order, the brackets that it is needed to close."""
    if ctx.needed is None:
        return Cut(len(text))
    stack: list[str] = []
    pending = list(reversed(ctx.needed))
    for offset, char in ctx.scan(text).brackets:
        if char in OPENERS:
            stack.append(OPENERS[char])
        elif stack:
            # A wrong closer inside the answer is a matter of structure, not of overlap.
            stack.pop()
        elif pending and pending[-1] == char:
            pending.pop()
        else:
            decided = final or offset + LOOKAHEAD <= len(text)
            return Cut(offset, stop=decided)
    return Cut(len(text))
