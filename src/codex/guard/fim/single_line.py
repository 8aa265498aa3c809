"""Single-line mode: the answer ends with its first visible line."""

from __future__ import annotations

from codex.guard.cut import Cut
from codex.guard.fim.context import FimContext


def first_line_only(text: str, ctx: FimContext, final: bool) -> Cut:  # noqa: ARG001 - the signature of all passes
    if not ctx.single_line:
        return Cut(len(text))
    visible = len(text) - len(text.lstrip())
    end = text.find("\n", visible)
    return Cut(len(text)) if end < 0 or visible == len(text) else Cut(end, stop=True)
