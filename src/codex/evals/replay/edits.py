"""Two versions of a file as the hunks between them, cut into pieces that a developer types in one go.

Pure text in, pure text out. Knows no archive, no typist and no server.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from io import StringIO

from codex.types import SourceFile


@dataclass(frozen=True, slots=True)
class Edit:
    """Lines to type. `before` and `after` are what the buffer holds around them, whole file.

    `text` has no newline at its end; the buffer after the edit is `before + text + ending + after`.
    `ending` is empty only where the new file's last line has none. `id` is `path:line`, the line number
    in the new file. `context` holds the files edited last before this one, the newest last. `follows`: the
    developer has just typed what stands right before it, and so needs no time to find the place.
    """

    id: str
    path: str
    language: str
    before: str
    text: str
    ending: str
    after: str
    context: tuple[SourceFile, ...] = ()
    follows: bool = False

    @property
    def buffer(self) -> str:
        """The whole file once this edit is typed."""
        return self.before + self.text + self.ending + self.after


@dataclass(frozen=True, slots=True)
class Hunk:
    """`old[start:stop]` becomes `added`; lines keep their ends."""

    start: int
    stop: int
    added: tuple[str, ...]


def lines_of(text: str) -> list[str]:
    """Lines with their ends. Only \\n ends a line: `str.splitlines` would also cut at form feeds in code."""
    return list(StringIO(text, newline="\n"))


def hunks_between(old: str, new: str) -> list[Hunk]:
    """The line hunks from `old` to `new`, in the order of the file, pure deletions among them."""
    a, b = lines_of(old), lines_of(new)
    blocks = SequenceMatcher(None, a, b, autojunk=False).get_opcodes()
    return [Hunk(i1, i2, tuple(b[j1:j2])) for tag, i1, i2, j1, j2 in blocks if tag != "equal"]


def edits_of_file(path: str, language: str, old: str, new: str, *, max_lines: int) -> Iterator[Edit]:
    """Every piece from `old` to `new`, in order. Typing them all, and deleting what only goes, gives `new`.

    A hunk's deleted lines go first, then its added lines are typed in pieces of at most `max_lines`.
    """
    lines = lines_of(old)
    done: list[str] = []
    at = 0
    for hunk in hunks_between(old, new):
        done += lines[at : hunk.start]
        at = hunk.stop
        rest = "".join(lines[at:])
        for piece in _pieces(hunk.added, max_lines):
            ending = "\n" if piece[-1].endswith("\n") else ""
            text = "".join(piece)
            before = "".join(done)
            yield Edit(
                f"{path}:{len(done) + 1}", path, language, before, text.removesuffix("\n"), ending, rest
            )
            done += piece


def _pieces(lines: Sequence[str], max_lines: int) -> Iterator[Sequence[str]]:
    """Cuts at blank lines where it can, since that is where people pause; blank lines end a piece."""
    start = 0
    while start < len(lines):
        stop = min(start + max_lines, len(lines))
        if stop < len(lines):
            blank = [
                at for at in range(start + 1, stop) if lines[at].isspace() and not lines[at - 1].isspace()
            ]
            stop = blank[-1] + 1 if blank else stop
        while stop < len(lines) and lines[stop].isspace():
            stop += 1
        yield lines[start:stop]
        start = stop
