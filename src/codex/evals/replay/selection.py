"""Which edits of two versions are typed: moved files paired, sizes capped, a seeded sample taken.

Knows snapshots and edits; no typist and no server.
"""

from __future__ import annotations

import random
from collections import Counter, deque
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from codex.errors import EvaluationError
from codex.evals.replay.edits import Edit, edits_of_file, lines_of
from codex.evals.replay.languages import language_of
from codex.evals.replay.sources import Snapshot
from codex.types import SourceFile

MOVED_SHARE = 0.5
"""A new file that shares this part of its lines with one that went away is that file, moved."""

MAX_CONTEXT = 8


@dataclass(frozen=True, slots=True)
class Selection:
    """What to take from all edits between two versions.

    `edits`: how many at most. They are taken as runs of up to `run` neighbours in one file, because a
    developer stays at a place for a while. `max_lines` a piece; pieces with fewer than `min_characters`
    beside white space, more than `max_characters`, or a line longer than `max_line` are left out.
    `languages` empty means all.
    """

    edits: int = 300
    seed: int = 1
    run: int = 5
    max_lines: int = 1
    min_characters: int = 4
    max_characters: int = 400
    max_line: int = 160
    languages: frozenset[str] = frozenset()

    def takes(self, edit: Edit) -> bool:
        solid = sum(len(line.strip()) for line in edit.text.split("\n"))
        longest = max(map(len, edit.text.split("\n")))
        return self.min_characters <= solid <= self.max_characters and longest <= self.max_line


def load_edits(old: Snapshot, new: Snapshot, selection: Selection | None = None) -> list[Edit]:
    """The sampled edits from `old` to `new`, in the order in which they are typed: by file, then by line.

    Raises:
        EvaluationError: the versions do not differ in anything that would be typed.
    """
    selection = selection or Selection()
    sources = _sources(old, new, selection.languages)
    chosen = _sample(_runs(sources, new, selection), selection)
    if not chosen:
        raise EvaluationError("nothing to type: the two versions differ in no source line of a fitting size")
    return list(_with_context(_build(sources, new, selection, chosen), new))


def _sources(old: Snapshot, new: Snapshot, languages: Collection[str]) -> dict[str, str]:
    """For each changed file of `new`, by path in order: the text that it was made from."""
    changed = {
        path: old.get(path, "")
        for path in sorted(new)
        if old.get(path) != new[path] and (not languages or language_of(path) in languages)
    }
    gone = {path: Counter(lines_of(text)) for path, text in old.items() if path not in new}
    for path in changed:
        if path not in old and gone:
            origin = _origin(new[path], gone)
            changed[path] = old[origin] if origin else ""
            gone.pop(origin, None)
    return changed


def _origin(text: str, gone: dict[str, Counter[str]]) -> str:
    lines = Counter(line for line in lines_of(text) if not line.isspace())
    shares = {path: (lines & other).total() / max(lines.total(), 1) for path, other in gone.items()}
    best = max(sorted(shares), key=shares.__getitem__)
    return best if shares[best] >= MOVED_SHARE else ""


def _file_edits(path: str, old: str, new: Snapshot, selection: Selection) -> Iterator[Edit]:
    every = edits_of_file(path, language_of(path) or "", old, new[path], max_lines=selection.max_lines)
    return (edit for edit in every if selection.takes(edit))


def _runs(sources: dict[str, str], new: Snapshot, selection: Selection) -> list[list[str]]:
    """Ids only: whole buffers of every edit of a large code base would not fit into memory."""
    runs = []
    for path, old in sources.items():
        ids = [edit.id for edit in _file_edits(path, old, new, selection)]
        runs += [ids[at : at + selection.run] for at in range(0, len(ids), selection.run)]
    return runs


def _sample(runs: list[list[str]], selection: Selection) -> set[str]:
    random.Random(f"edits {selection.seed}").shuffle(runs)
    ids = [id for run in runs for id in run]
    return set(ids[: selection.edits])


def _build(sources: dict[str, str], new: Snapshot, selection: Selection, chosen: set[str]) -> Iterator[Edit]:
    paths = {id.rpartition(":")[0] for id in chosen}
    for path, old in sources.items():
        if path in paths:
            yield from (edit for edit in _file_edits(path, old, new, selection) if edit.id in chosen)


def _with_context(edits: Iterator[Edit], new: Snapshot) -> Iterator[Edit]:
    """Adds the files that the developer left before this one, as they stand in the new version."""
    opened: deque[SourceFile] = deque(maxlen=MAX_CONTEXT)
    last: Edit | None = None
    for edit in edits:
        if last is not None and edit.path != last.path:
            opened.append(SourceFile(last.path, new[last.path]))
        yield replace(edit, context=tuple(opened), follows=last is not None and _follows(last, edit))
        last = edit


def _follows(last: Edit, edit: Edit) -> bool:
    return last.path == edit.path and edit.before == last.before + last.text + last.ending
