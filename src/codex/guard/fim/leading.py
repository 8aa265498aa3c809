"""No space too many at the start: an answer does not repeat the blank that stands left of the cursor.

Small models often begin with the space, or the whole indentation, that the prefix already ends with.
"""

from __future__ import annotations

from codex.guard.fim.context import FimContext
from codex.guard.fim.lines import indent_of

_OPENS_BLOCK = (":", "{", "(", "[", "=>", "->", "=", ",", "\\")


def superfluous_start(text: str, ctx: FimContext, final: bool) -> int | None:
    """How many characters to drop from the start of `text`; None while that cannot be known."""
    visible = text.lstrip(" \t")
    blank = text[: len(text) - len(visible)]
    if not visible and not final:
        return None
    if not ctx.before or not ctx.before[-1].isspace() or ctx.inside:
        return 0
    if not ctx.on_blank:
        return len(blank)
    if visible.startswith(("\n", "\r\n")):
        return _blank_first_line(visible, ctx, final)
    return len(blank) - _wanted(indent_of(blank + "x"), ctx) if blank else 0


def _wanted(lead: int, ctx: FimContext) -> int:
    """How many leading columns are real indentation, with the cursor itself at an indentation."""
    if not ctx.above:
        return 0
    here = ctx.column
    level = indent_of(ctx.above[0])
    if ctx.above[0].rstrip().endswith(_OPENS_BLOCK):
        return lead if here <= level else 0
    return min(lead, max(0, level - here))


def _blank_first_line(visible: str, ctx: FimContext, final: bool) -> int | None:
    """The cursor stands at an indentation, and the answer starts over on the next line at the same one."""
    body = visible.lstrip("\r\n")
    code = body.lstrip(" \t")
    if not code:
        return 0 if final else None
    one_break = visible[: len(visible) - len(body)].count("\n") == 1
    same = one_break and indent_of(body) == ctx.column
    return len(visible) - len(code) if same else 0
