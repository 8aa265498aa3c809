"""Small facts about lines of code: indentation, what is only closing, what is worth comparing."""

from __future__ import annotations

import re
from dataclasses import dataclass

TAB_COLUMNS = 4
_WORD = re.compile(r"[^\W\d_]")
_CLOSING = re.compile(r"[\s)\]}>;,]+")


@dataclass(frozen=True, slots=True)
class Line:
    """`text` without its line end; `start` and `end` are offsets; `ended`: its newline is there."""

    text: str
    start: int
    end: int
    ended: bool


def lines_of(text: str) -> list[Line]:
    """All lines; the last one is the unfinished one (empty after a final newline)."""
    found: list[Line] = []
    start = 0
    for part in text.split("\n"):
        end = start + len(part)
        found.append(Line(part, start, end, end < len(text)))
        start = end + 1
    return found


def indent_of(line: str) -> int:
    """Columns before the first visible character; a tab reaches to the next multiple of `TAB_COLUMNS`."""
    blank = line[: len(line) - len(line.lstrip(" \t"))]
    return len(blank.expandtabs(TAB_COLUMNS))


def is_closing(line: str) -> bool:
    """Whether a line holds nothing but closing brackets and separators."""
    return bool(_CLOSING.fullmatch(line)) and not line.isspace()


def squeezed(line: str) -> str:
    """The line without any whitespace: what is left when layout does not count."""
    return "".join(line.split())


_COMMON = frozenset(
    {"return", "return;", "continue", "continue;", "break;", "default:", "finally:", "finally{", "}else{"}
)


def is_telling(line: str) -> bool:
    """Whether it is odd to see a line twice: it has a word in it and is no common one-word statement."""
    bare = squeezed(line)
    return len(bare) >= 6 and bool(_WORD.search(bare)) and bare not in _COMMON
