"""No closing line twice: where brackets cannot be counted, a line of closers below is not written again."""

from __future__ import annotations

from codex.guard.cut import Cut
from codex.guard.fim.context import FimContext
from codex.guard.fim.lines import indent_of, is_closing, lines_of, squeezed


def no_closing_line_twice(text: str, ctx: FimContext, final: bool) -> Cut:
    following = ctx.rest if ctx.rest.strip() else (ctx.below[0] if ctx.below else "")
    if ctx.needed is not None or not is_closing(following):
        return Cut(len(text))
    wanted = (indent_of(following), squeezed(following))
    for line in lines_of(text)[1:]:
        bare = squeezed(line.text)
        if not line.ended and not final:
            may_be = not bare or (indent_of(line.text) == wanted[0] and wanted[1].startswith(bare))
            return Cut(line.start if may_be else len(text))
        if (indent_of(line.text), bare) == wanted:
            return Cut(line.start, stop=True)
    return Cut(len(text))
