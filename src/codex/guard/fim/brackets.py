"""No bracket that the text after the cursor closes already: an answer ends before a closer nobody opened."""

from __future__ import annotations

from codex.guard.cut import Cut
from codex.guard.fim.context import FimContext
from codex.guard.fim.lexer import LOOKAHEAD, OPENERS


def closes_only_its_own(text: str, ctx: FimContext, final: bool) -> Cut:
    """The answer may close what it opened and, in their order, the brackets that it is needed to close.

    `} else {` closes a block and leaves one open in its place: that is no closer too many.
    """
    if ctx.needed is None:
        return Cut(len(text))
    stack: list[str] = []
    pending = list(reversed(ctx.needed))
    swapped = 0
    brackets = ctx.scan(text).brackets
    for index, (offset, char) in enumerate(brackets):
        if char in OPENERS:
            if swapped and not stack and char == "{":
                swapped -= 1
            else:
                stack.append(OPENERS[char])
        elif stack:
            # A wrong closer inside the answer is a matter of structure, not of overlap.
            stack.pop()
        elif pending and pending[-1] == char:
            pending.pop()
        else:
            line_end = text.find("\n", offset)
            here = brackets[index + 1 :] if line_end < 0 else _until(brackets, index + 1, line_end)
            opens_again = char == "}" and any(other == "{" for _, other in here)
            settled = char != "}" and offset + LOOKAHEAD <= len(text)
            decided = final or line_end >= 0 or settled
            if not (opens_again and decided):
                return Cut(offset, stop=decided)
            swapped += 1
    return Cut(len(text))


def _until(brackets: tuple[tuple[int, str], ...], index: int, end: int) -> tuple[tuple[int, str], ...]:
    """The brackets from number `index` on that stand before the offset `end`."""
    return tuple(bracket for bracket in brackets[index:] if bracket[0] < end)
