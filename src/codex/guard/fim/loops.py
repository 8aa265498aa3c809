"""No loops: an answer ends where it starts to say the same thing over and over."""

from __future__ import annotations

from codex.guard.cut import Cut
from codex.guard.fim.context import FimContext
from codex.guard.fim.lines import Line, is_telling, lines_of, squeezed

COPIES = 3
"""So many equal blocks of lines in a row are a loop; the first of them is kept."""

LONGEST_BLOCK = 6
LONGEST_UNIT = 24
LONGEST_RUN = 120
"""A line that repeats one short piece for so many characters is a loop."""


def stops_at_loops(text: str, ctx: FimContext, final: bool) -> Cut:  # noqa: ARG001 - the signature of all passes
    lines = [line for line in lines_of(text) if line.text.strip()]
    in_line = _loop_in_line(lines)
    # The line break before a line that may have to go is held back with it.
    end = len(text) if final or not lines else lines[-1].end
    words = [squeezed(line.text) for line in lines]
    for index in range(1, len(lines)):
        for period in range(1, min(LONGEST_BLOCK, index) + 1):
            state = _repeats(lines, words, index, period, final)
            start = lines[index - 1].end
            if state == "loop" and start <= in_line:
                # A longer loop may have begun before this one: that is not known yet.
                return Cut(start, stop=True) if start <= end else Cut(end)
            if state == "open":
                end = min(end, start)
    return Cut(in_line, stop=True) if in_line <= end and in_line < len(text) else Cut(min(end, in_line))


def _repeats(lines: list[Line], words: list[str], index: int, period: int, final: bool) -> str:
    """Whether the lines from `index` on say `COPIES` - 1 times more what the `period` lines before them say.

    "open": they may, if more of the same follows.
    """
    block = words[index - period : index]
    if not any(map(is_telling, block)):
        return "no"
    for step in range(period * (COPIES - 1)):
        if index + step >= len(lines):
            return "no" if final else "open"
        line, word, wanted = lines[index + step], words[index + step], block[step % period]
        if line.ended and word != wanted:
            return "no"
        if not line.ended:
            if not wanted.startswith(word):
                return "no"
            if not final:
                return "open"
            return "loop" if step >= period * (COPIES - 2) else "no"
    return "loop"


def _loop_in_line(lines: list[Line]) -> int:
    """Where a line has first gone round for `LONGEST_RUN` characters; beyond every text if none has."""
    for line in lines:
        if len(line.text) < LONGEST_RUN:
            continue
        found = min((end for unit in range(2, LONGEST_UNIT + 1) if (end := _run(line.text, unit))), default=0)
        if found:
            return line.start + found
    return 1 << 60


def _run(line: str, unit: int) -> int:
    """Where `line` has repeated its last `unit` characters for `LONGEST_RUN`; 0 when it never does.

    A single repeated character is a ruler or a border, not a loop.
    """
    run = 0
    for at in range(unit, len(line)):
        run = run + 1 if line[at] == line[at - unit] else 0
        if run >= LONGEST_RUN - unit and len(set(line[at - unit : at])) > 2:
            return at + 1
    return 0
