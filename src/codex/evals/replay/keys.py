"""An edit as the keys that a developer presses in an editor that indents by itself.

Knows text and indentation; no time, no suggestion source.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass
from enum import StrEnum

from codex.evals.replay.edits import Edit, lines_of

_ENDS_BLOCK = re.compile(r"\s*(return|pass|break|continue|raise)\b(?!.*[(\[{,]$)")


class KeyKind(StrEnum):
    """What a key does; the pause before it depends on this."""

    INSIDE = "inside"
    WORD = "word"
    LINE = "line"


@dataclass(frozen=True, slots=True)
class KeyScript:
    """`states[i]` is the text typed after `i` keys (indentation by the editor included), `kinds[i]` the key
    that leads from state i to i+1. `ends[n]` is the state in which line n is complete, `lines` the wanted
    text.

    The characters that count as typed are the keys: every character except indentation that the editor
    gives for free, the newline between two lines, and one key for a line whose indentation the editor
    guessed wrong.
    """

    lines: tuple[str, ...]
    states: tuple[str, ...]
    kinds: tuple[KeyKind, ...]
    ends: tuple[int, ...]

    @property
    def keys(self) -> int:
        return len(self.kinds)

    def line_at(self, state: int) -> int:
        """Number of the line that is being typed in `state`."""
        return bisect_left(self.ends, state)

    def rest_of_line(self, state: int) -> str | None:
        """What is missing to the end of the line; None while the line still has wrong indentation."""
        complete, now = self.states[self.ends[self.line_at(state)]], self.states[state]
        return complete[len(now) :] if complete.startswith(now) else None


def script_of(edit: Edit) -> KeyScript:
    """The keys of an edit. The cursor starts in an empty line between `before` and `after`, indented by
    the editor.
    """
    indenter = _Indenter(edit)
    lines = edit.text.split("\n")
    states = [indenter.after(edit.before)]
    kinds: list[KeyKind] = []
    ends: list[int] = []
    done = ""
    for number, line in enumerate(lines):
        if number:
            kinds.append(KeyKind.INSIDE)
            states.append(done + indenter.after(edit.before + done))
        _type_line(done, line, states, kinds)
        ends.append(len(kinds))
        done += line + "\n"
    return KeyScript(tuple(lines), tuple(states), tuple(kinds), tuple(ends))


def _type_line(done: str, line: str, states: list[str], kinds: list[KeyKind]) -> None:
    code = line.lstrip(" \t")
    indent = line[: len(line) - len(code)]
    if not code:
        return  # the editor removes the indentation of a line that stays blank
    start = len(kinds)
    if states[-1] != done + indent:
        kinds.append(KeyKind.LINE)
        states.append(done + indent)
    for at, character in enumerate(code):
        first = len(kinds) == start
        kinds.append(KeyKind.LINE if first else _kind(code[at - 1 : at + 1] if at else "aa"))
        states.append(states[-1] + character)


def _kind(pair: str) -> KeyKind:
    """A word starts where a letter follows something else: that is where people pause."""
    starts = (pair[1].isalnum() or pair[1] == "_") and not (pair[0].isalnum() or pair[0] == "_")
    return KeyKind.WORD if starts else KeyKind.INSIDE


class _Indenter:
    """Indents as editors do: like the last line with text, one level more after an opener, and in Python
    one level less after a statement that ends a block (VS Code's rules for the language)."""

    def __init__(self, edit: Edit) -> None:
        self._python = edit.language == "python"
        self._openers = ("(", "[", "{", ":") if self._python else ("(", "[", "{")
        self._unit = _unit_of(edit.before + edit.after)

    def after(self, text: str) -> str:
        end = len(text.rstrip())
        start = text.rfind("\n", 0, end) + 1
        line = text[start:end]
        indent = line[: len(line) - len(line.lstrip(" \t"))]
        if line.endswith(self._openers):
            return indent + self._unit
        ends = self._python and _ENDS_BLOCK.match(line)
        return indent.removesuffix(self._unit) if ends else indent


def _unit_of(text: str) -> str:
    """The step of indentation that the file uses most; four spaces when it shows none."""
    widths = Counter[str]()
    last = 0
    for line in lines_of(text):
        if line.startswith("\t"):
            widths["\t"] += 1
        elif not line.isspace():
            width = len(line) - len(line.lstrip(" "))
            if 2 <= width - last <= 8:
                widths[" " * (width - last)] += 1
            last = width
    return widths.most_common(1)[0][0] if widths else "    "
