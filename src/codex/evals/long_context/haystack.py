"""Much real code with needles in it, the same for the same seed and sources. Knows no model.

One haystack serves all its questions: they stand behind it, so a server with a prefix cache reads it once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from random import Random

from codex.errors import EvaluationError
from codex.evals.long_context.needles import KINDS, WORDS, Needle, make_needle
from codex.evals.long_context.sources import pieces
from codex.types import SourceFile

CHARS_PER_TOKEN = 4.3
"""Of Qwen's tokenizer on the standard library (measured: 4.0 to 4.5 by file). Lengths are nominal so that
every server gets the same text; reports show the tokens that the server counted."""
_TOKENS_A_KIND = 55
"""What the facts of one needle of a kind take, on the average over kinds."""
_DEEPEST = 0.95


@dataclass(frozen=True, slots=True)
class Haystack:
    """`tokens` is the nominal length; `depths` tells by needle id where its facts lie, 0 start to 1 end."""

    tokens: int
    text: str
    needles: tuple[Needle, ...]
    depths: Mapping[str, tuple[float, ...]]

    def prompt(self, needle: Needle) -> str:
        return self.text + needle.question


def build_haystack(sources: Sequence[SourceFile], *, tokens: int, per_kind: int, seed: int) -> Haystack:
    """About `tokens` tokens of code with `per_kind` needles of each kind, spread over all depths.

    Raises EvaluationError: not enough code, or more needles than there are words.
    """
    random = Random(f"{seed}/{tokens}")
    room = tokens - per_kind * len(KINDS) * _TOKENS_A_KIND
    if room < tokens // 4:
        raise EvaluationError(f"{tokens} tokens are too few for {per_kind} needles of each kind")
    straw = _straw(sources, int(room * CHARS_PER_TOKEN), random)
    needles = _needles(straw, per_kind, random)
    hidden = [(needle, fact) for needle in needles for fact in needle.facts]
    places = _places(len(hidden), random)
    text, depths = _with_facts(straw, sorted(zip(places, hidden, strict=True), key=lambda item: item[0]))
    # The first line differs by length, so that no haystack is found in the cache of a shorter one.
    return Haystack(tokens, f"# Sources, volume {tokens}.{seed}\n\n{text}", needles, depths)


def _straw(sources: Sequence[SourceFile], characters: int, random: Random) -> list[str]:
    """Top-level pieces of whole files in random order; the last file ends early."""
    order = list(sources)
    random.shuffle(order)
    straw: list[str] = []
    left = characters
    for source in order:
        try:
            cut = pieces(source)
        except SyntaxError:
            continue
        for number, piece in enumerate(cut):
            if len(piece) > left:
                break
            straw.append(f"# File: {source.path}\n{piece}" if number == 0 else piece)
            left -= len(piece)
        if left < characters // 50:
            return straw
    raise EvaluationError(
        f"the sources hold fewer than {characters} characters of code: name a larger folder"
    )


def _needles(straw: Sequence[str], per_kind: int, random: Random) -> tuple[Needle, ...]:
    known = "".join(straw).lower()
    words = [word for word in WORDS if word not in known]
    random.shuffle(words)
    if len(words) < per_kind * len(KINDS):
        raise EvaluationError(f"at most {len(words) // len(KINDS)} needles of each kind fit this code")
    wanted = product(range(per_kind), KINDS)
    return tuple(make_needle(kind, word, random) for (_, kind), word in zip(wanted, words, strict=False))


def _places(count: int, random: Random) -> list[float]:
    """One place in each of `count` equal parts of the haystack, in random order."""
    places = [(number + random.random()) / count * _DEEPEST for number in range(count)]
    random.shuffle(places)
    return places


def _with_facts(
    straw: Sequence[str], hidden: Sequence[tuple[float, tuple[Needle, str]]]
) -> tuple[str, dict[str, tuple[float, ...]]]:
    """The text with each fact before the first piece that starts behind its place."""
    total = sum(map(len, straw))
    waiting, written, position = list(hidden), list[str](), 0
    depths: dict[str, tuple[float, ...]] = {}
    for piece in straw:
        while waiting and waiting[0][0] * total <= position:
            _, (needle, fact) = waiting.pop(0)
            written.append(f"\n\n{fact}\n\n")
            depths[needle.id] = (*depths.get(needle.id, ()), round(position / total, 3))
        written.append(piece)
        position += len(piece)
    for _, (needle, fact) in waiting:
        written.append(f"\n\n{fact}\n\n")
        depths[needle.id] = (*depths.get(needle.id, ()), 1.0)
    return "".join(written), depths
