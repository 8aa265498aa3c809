"""No blank at the end of an answer, unless it keeps the answer apart from the text right of the cursor."""

from __future__ import annotations

from codex.guard.cut import Cut
from codex.guard.fim.context import FimContext


def no_trailing_blank(text: str, ctx: FimContext, final: bool) -> Cut:
    visible = len(text.rstrip())
    if not final or not visible or not ctx.suffix or ctx.suffix[0] in "\r\n":
        return Cut(visible)
    if ctx.suffix[0] in " \t":
        # The text after the cursor brings its own indentation: one line break is all it needs.
        line_end = text.find("\n", visible)
        return Cut(len(text) if line_end < 0 else line_end + 1)
    return Cut(len(text))
