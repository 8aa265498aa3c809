"""Is a suggestion right, and how much of it? What a developer takes and what stays on the screen.

Pure functions on text and keys. Knows no time and no server.
"""

from __future__ import annotations

import re

from codex.evals.replay.keys import KeyScript

MIN_PARTIAL = 4
"""Characters of a right word prefix that are worth a key of their own."""

_WORD = re.compile(r"\s*(?:\w+|[^\w\s]+)")


def accepted_state(script: KeyScript, state: int, suggestion: str) -> int | None:
    """The state after taking the suggestion's longest run of right whole lines; None when its first line
    is wrong.

    White space at the end of a line makes no difference: editors strip it.
    """
    rest = script.rest_of_line(state)
    offered = [line.rstrip() for line in suggestion.split("\n")]
    if rest is None or offered[0] != rest.rstrip():
        return None
    line = script.line_at(state)
    wanted = [text.rstrip() for text in script.lines[line + 1 :]]
    right = 0
    while right < min(len(wanted), len(offered) - 1) and offered[right + 1] == wanted[right]:
        right += 1
    end = script.ends[line + right]
    return end if end > state else None


def first_line_is_right(script: KeyScript, state: int, suggestion: str) -> bool:
    """Exact match of the rest of the line, as a quality figure that knows no time."""
    rest = script.rest_of_line(state)
    return rest is not None and suggestion.split("\n")[0].rstrip() == rest.rstrip()


def partial_saving(script: KeyScript, state: int, suggestion: str) -> int:
    """Keys that taking word by word would save: the longest right prefix of whole words, less a key for each.

    0 when that prefix is shorter than `MIN_PARTIAL` characters.
    """
    rest = script.rest_of_line(state) or ""
    first = suggestion.split("\n")[0]
    words = end = 0
    for word in _WORD.finditer(first):
        if not _is_prefix(first[: word.end()], rest):
            break
        words, end = words + 1, word.end()
    return max(end - words, 0) if end >= MIN_PARTIAL else 0


def _is_prefix(text: str, rest: str) -> bool:
    """`text` opens `rest` and ends there at the end of a word."""
    cut = re.search(r"\w$", text) and re.match(r"\w", rest[len(text) :])
    return rest.startswith(text) and not cut


def remainder(before: str, after: str, suggestion: str) -> str | None:
    """What is left of a visible suggestion once a key made `after` out of `before`; None when they part
    ways.
    """
    if not after.startswith(before):
        return None
    typed = after[len(before) :]
    return (suggestion[len(typed) :] or None) if suggestion.startswith(typed) else None
