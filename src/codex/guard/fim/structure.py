"""Structure integrity: an answer ends with a complete statement where it can (SPEC E3).

The first line leaves as it comes. Later lines wait for the end of their statement, so that a statement that
was cut short can still be left out.
"""

from __future__ import annotations

from codex.guard.cut import Cut
from codex.guard.fim.context import FimContext
from codex.guard.fim.lexer import OPENERS, Scan
from codex.guard.fim.lines import Line, lines_of
from codex.guard.fim.parse import syntax_errors
from codex.guard.language import Family

_GOES_ON = (",", "(", "[", "=", "+", "-", "*", "/", "%", "&", "|", "^", "?", ".", "<", "\\", "=>", "->", "@")
_GOES_ON_WORDS = ("and", "or", "not", "in", "is", "lambda", "new", "await")


def ends_complete(text: str, ctx: FimContext, final: bool) -> Cut:
    if ctx.single_line or ctx.language.family is Family.PLAIN:
        return Cut(len(text))
    lines = lines_of(text)
    visible = [line for line in lines if line.text.strip()]
    if not visible or not visible[0].ended:
        return Cut(len(text))
    scanned = ctx.scan(text)
    complete, whole = _last_complete(visible, scanned, ctx)
    if not final:
        return Cut(complete)
    if not text[complete:].strip() or _keeps_whole(text, complete, whole, ctx):
        return Cut(len(text))
    return Cut(complete)


def _last_complete(visible: list[Line], scanned: Scan, ctx: FimContext) -> tuple[int, bool]:
    """End of the last ended line that completes a statement; whether the very last line does so too.

    Brackets that the first line leaves open cannot be avoided any more: they do not count.
    """
    depth, position, floor, complete = 0, 0, 0, visible[0].end
    whole = False
    for number, line in enumerate(visible):
        while position < len(scanned.brackets) and scanned.brackets[position][0] < line.end:
            depth += 1 if scanned.brackets[position][1] in OPENERS else -1
            position += 1
        if number == 0:
            floor = max(0, depth)
        whole = depth <= floor and not scanned.covered(line.end) and _completes(line, scanned, ctx)
        if whole and line.ended:
            complete = line.end
    return complete, whole


def _completes(line: Line, scanned: Scan, ctx: FimContext) -> bool:
    """Whether the code on a line, comments aside, can be the end of a statement."""
    comment = next((at - line.start for at in scanned.comments if line.start <= at < line.end), None)
    code = line.text[:comment].strip()
    if not code or code.endswith(_GOES_ON) or code.startswith("@"):
        return False
    if ctx.language.family is Family.INDENT and code.endswith(":"):
        return False
    return code.rsplit(maxsplit=1)[-1] not in _GOES_ON_WORDS


def _keeps_whole(text: str, complete: int, whole: bool, ctx: FimContext) -> bool:
    """Whether the rest behind the last complete line is as sound as the answer without it."""
    errors = syntax_errors(ctx.prefix, text, ctx.suffix, ctx.language.name)
    if errors is None:
        return whole
    if errors == 0:
        return True
    without = syntax_errors(ctx.prefix, text[:complete], ctx.suffix, ctx.language.name)
    return without is not None and errors <= without
