"""No line that follows anyway: an answer ends before it repeats the next line, or a definition below."""

from __future__ import annotations

import re

from codex.guard.cut import Cut
from codex.guard.fim.context import FimContext, steps_below
from codex.guard.fim.lines import Line, indent_of, is_closing, is_telling, lines_of, squeezed

_DEFINITION = re.compile(
    r"\s*(?:(?:export|default|public|private|protected|static|async|pub|final|abstract)\s+)*"
    r"(?:def|class|function|func|fn|interface|struct|enum|trait|impl)\s+\w+"
)
_ONCE = re.compile(r"^\s*(?:return|raise|throw|yield)\b|[:{]\s*$|[^=!<>]=[^=]")
"""What a block has once: its end, the head of a block inside it, an assignment. Calls may come again."""

SHORTEST_START = 4
"""An answer that was cut inside a line that follows anyway loses it from so many characters on."""


def stops_before_below(text: str, ctx: FimContext, final: bool) -> Cut:
    """Lines count as equal when only whitespace inside them differs and they are indented alike."""
    known = _known_lines(ctx)
    if not known:
        return Cut(len(text))
    scanned = None
    for number, line in enumerate(lines_of(text)):
        if number == 0 and not ctx.on_blank:
            continue
        written = ctx.before + line.text if number == 0 else line.text
        state = _compare(written, line, known, final)
        if state == "different":
            continue
        scanned = scanned or ctx.scan(text)
        if scanned.covered(line.start):
            continue
        return Cut(line.start, stop=state == "equal")
    return Cut(len(text))


def _known_lines(ctx: FimContext) -> frozenset[tuple[int, str]]:
    """(indentation, text) of the next visible line and of those further down that a block has once."""
    steps = steps_below(ctx)
    telling = [step for step in steps[:1] if not is_closing(step[1])]
    telling += [step for step in steps[1:] if is_telling(step[1]) and _ONCE.search(step[1])]
    telling += [(indent_of(line), m[0]) for line in ctx.below if (m := _DEFINITION.match(line))]
    return frozenset((indent, squeezed(line)) for indent, line in telling)


def _compare(written: str, line: Line, known: frozenset[tuple[int, str]], final: bool) -> str:
    """ "open": it may still become one of `known`."""
    bare, indent = squeezed(written), indent_of(written)
    definition = _DEFINITION.match(written)
    for known_indent, wanted in known:
        if not bare:
            if not line.ended and not final:
                return "open"
            continue
        if indent != known_indent:
            continue
        named = bool(definition and squeezed(definition[0]) == wanted and len(definition[0]) < len(written))
        if named or (bare == wanted and (line.ended or final)):
            return "equal"
        if not line.ended and wanted.startswith(bare):
            if not final:
                return "open"
            if line.start and len(bare) >= SHORTEST_START:
                return "equal"
    return "different"
