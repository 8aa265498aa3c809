"""Stops at the scope's end: the code around the cursor's block is not the answer's to write."""

from __future__ import annotations

from codex.guard.cut import Cut
from codex.guard.fim.context import FimContext
from codex.guard.fim.scope_braces import end_of_braces
from codex.guard.fim.scope_indent import end_of_indent
from codex.guard.language import Family


def stops_at_scope_end(text: str, ctx: FimContext, final: bool) -> Cut:
    if ctx.language.family is Family.INDENT:
        return end_of_indent(text, ctx, final)
    if ctx.language.family is Family.BRACES:
        return end_of_braces(text, ctx, final)
    return Cut(len(text))
