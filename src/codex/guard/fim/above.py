"""No repetition of what stands above: an answer that begins with the lines just before it is empty."""

from __future__ import annotations

from codex.guard.cut import Cut
from codex.guard.fim.context import FimContext
from codex.guard.fim.lines import is_telling, lines_of, squeezed

MOST_LINES = 6
"""Longest block above that is recognised when the answer copies it."""


def repeats_above(text: str, ctx: FimContext, final: bool) -> Cut:
    """One telling line above, or at least three lines of which two are telling."""
    lines = lines_of(text)[: MOST_LINES * 2]
    below_cursor = lines[0].ended and not lines[0].text.strip()
    given = [(squeezed(line.text), line.ended) for line in lines if line.text.strip()]
    if not below_cursor and not lines[0].text.isspace() and (given or not ctx.on_blank):
        given[:1] = [(squeezed(ctx.before + lines[0].text), lines[0].ended)]
    if not given:
        return Cut(len(text) if final else 0)
    above = (ctx.before, *ctx.above) if below_cursor and not ctx.on_blank else ctx.above
    undecided = False
    for length in (1, *range(3, MOST_LINES + 1)):
        block = [squeezed(line) for line in reversed(above[:length])]
        if len(block) < length or sum(map(is_telling, block)) < min(2, length):
            continue
        state = _compare(given, block, final)
        if state == "equal":
            return Cut(0, stop=True)
        undecided |= state == "open"
    return Cut(0 if undecided and not final else len(text))


def _compare(given: list[tuple[str, bool]], block: list[str], final: bool) -> str:
    for (line, ended), wanted in zip(given, block, strict=False):
        if not ended and not final:
            return "open" if wanted.startswith(line) else "different"
        if line != wanted:
            return "different"
    return "equal" if len(given) >= len(block) else "open"
