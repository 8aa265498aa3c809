"""How fast a person presses keys: seeded gaps between them. Knows kinds of keys, no text.

Gaps are log-normal, long known to fit free-text timings well ("On the shape of timings distributions in
free-text keystroke dynamics profiles", 2021, doi:10.1016/j.heliyon.2021.e08413). 5 characters a second is
a little above the mean of 168,000 people, about 52 words a minute ("Observations on Typing from 136
Million Keystrokes", CHI 2018, doi:10.1145/3173574.3174220). The pauses at words and lines are our own choice.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from math import log

from codex.evals.replay.keys import KeyKind


@dataclass(frozen=True, slots=True)
class Gap:
    """`mean` of those in `GAPS` is relative to the mean gap inside words; `sigma` is the logarithm's."""

    mean: float
    sigma: float


GAPS = {KeyKind.INSIDE: Gap(1.0, 0.35), KeyKind.WORD: Gap(2.8, 0.6), KeyKind.LINE: Gap(10.0, 0.7)}
"""Quick inside a word, a breath before the next one, a thought before the next line."""

MEAN_GAP = 1.34
"""Mean of `GAPS` over the keys of ordinary code, so that `characters_per_s` holds on average."""

OPENING_MS = 3_000.0
"""Mean time at a new place before the first key: reading, deciding. It is not part of the typing speed."""

OPENING_SIGMA = 0.5


def gaps_ms(
    kinds: Sequence[KeyKind], *, seed: str, characters_per_s: float = 5.0, follows: bool = False
) -> list[float]:
    """Milliseconds before each key. They depend on the seed and the keys alone, so that two servers meet
    the same typist; keys that an accepted suggestion saves leave the gaps of all others as they are.
    `follows`: the place is where the developer types already, so the first key waits as at any new line."""
    draw = random.Random(f"typist {seed}")
    inside = 1000.0 / characters_per_s / MEAN_GAP
    gaps = [_draw(draw, GAPS[kind].mean * inside, GAPS[kind].sigma) for kind in kinds]
    if gaps:
        opening = Gap(GAPS[KeyKind.LINE].mean * inside, GAPS[KeyKind.LINE].sigma)
        opening = opening if follows else Gap(OPENING_MS, OPENING_SIGMA)
        gaps[0] = _draw(draw, opening.mean, opening.sigma)
    return gaps


def _draw(draw: random.Random, mean: float, sigma: float) -> float:
    return draw.lognormvariate(log(mean) - sigma * sigma / 2, sigma)
