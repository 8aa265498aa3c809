"""No overlap with the rest of the cursor's line: what stands right of the cursor is not written again."""

from __future__ import annotations

import re
from typing import Literal

from codex.guard.cut import Cut
from codex.guard.fim.context import FimContext, is_own_line
from codex.guard.fim.lines import lines_of, squeezed

LONGEST = 160
"""Characters of the rest of the line that are compared."""

SHORTEST_PART = 4
SHORTEST_ALONE = 8
"""A rest shorter than this counts on a later line only when it is all of that line."""

_ONLY_CLOSING = re.compile(r"[)\]}>\"'`;:,]+")
_WORD_START = re.compile(r"\w+")


def no_overlap(text: str, ctx: FimContext, final: bool) -> Cut:
    """A line of the answer that ends with the whole rest, or with a telling beginning of it, ends before it.

    Where the rest only closes something, this holds for the first line and for the end of the answer.
    """
    rest = squeezed(ctx.rest)[:LONGEST]
    if not rest:
        return Cut(len(text))
    if _retypes_word(text, ctx):
        return Cut(0, stop=True)
    closing = bool(_ONLY_CLOSING.fullmatch(rest))
    for number, line in enumerate(lines_of(text)):
        ended = line.ended or final
        if not ended and not line.text.strip():
            return Cut(line.start if ctx.rest[0].isspace() else line.end)
        last = final and not line.ended
        whole_only = ended and number > 0 and not last
        at = _overlap(line.text, rest, "any" if not ended else "whole" if whole_only else "telling")
        if ended and at is not None and number > 0 and not _fits_later(line.text, at, rest, ctx):
            continue
        if at is None:
            continue
        if not ended:
            return Cut(line.start + _with_indentation(line.text, at, ctx))
        if number == 0 or last or not closing:
            return Cut(line.start + _with_indentation(line.text, at, ctx), stop=True)
    return Cut(len(text))


def _overlap(line: str, rest: str, wanted: Literal["any", "telling", "whole"]) -> int | None:
    """Where the longest tail of `line` begins that is the start of `rest`, whitespace aside.

    A tail that is not the whole of `rest` counts where it is `wanted`: any, or a telling one.
    """
    places = [index for index, char in enumerate(line) if not char.isspace()]
    bare = "".join(line[index] for index in places)
    for size in range(min(len(bare), len(rest)), 0, -1):
        if not bare.endswith(rest[:size]):
            continue
        at = places[len(bare) - size]
        if (
            size == len(rest)
            or wanted == "any"
            or (wanted == "telling" and _is_telling(line, at, rest, size))
        ):
            return at
    return None


def _is_telling(line: str, at: int, rest: str, size: int) -> bool:
    """Whether an overlap with a part of the rest is no accident."""
    part = rest[:size]
    if _ONLY_CLOSING.fullmatch(part):
        return True
    whole_words = not (part[-1].isalnum() and rest[size].isalnum())
    starts_word = at == 0 or not (line[at - 1].isalnum() and part[0].isalnum())
    if not line[:at].strip() and size >= 2:
        return True
    return size >= SHORTEST_PART and whole_words and starts_word


def _fits_later(line: str, at: int, rest: str, ctx: FimContext) -> bool:
    """Whether an overlap after the first line is no accident: all of a line, a long rest, or closers."""
    if not line[:at].strip():
        return True
    part = squeezed(line[at:])
    closes = bool(_ONLY_CLOSING.fullmatch(part))
    return not is_own_line(ctx) and (closes or (part == rest and len(rest) >= SHORTEST_ALONE))


def _retypes_word(text: str, ctx: FimContext) -> bool:
    """The cursor is inside a word, and the answer writes the word's second half and then goes elsewhere."""
    tail = _WORD_START.match(ctx.rest)
    if not tail or not ctx.before or not (ctx.before[-1].isalnum() or ctx.before[-1] == "_"):
        return False
    if not text.startswith(tail[0]) or len(text) == len(tail[0]):
        return False
    following = text[len(tail[0])]
    goes_on = squeezed(text.split("\n", 1)[0])
    same = squeezed(ctx.rest)[:LONGEST]
    return not (following.isalnum() or following == "_") and not same.startswith(goes_on)


def _with_indentation(line: str, at: int, ctx: FimContext) -> int:
    """A rest that brings its own indentation replaces that of the answer's line."""
    return 0 if ctx.rest[0].isspace() and not line[:at].strip() else at
