"""Facts to hide in code, and the question whose answer proves that one was found. Knows no haystack.

Every answer is judged by running it: the question's text, the answer and a test make one program.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Literal

from codex.evals.scoring import Part, ScriptCheck

NeedleKind = Literal["constant", "definition", "signature", "combined"]
KINDS: tuple[NeedleKind, ...] = ("constant", "definition", "signature", "combined")

WORDS = (
    "marlin", "cobalt", "juniper", "saffron", "walrus", "obsidian", "tamarind", "falcon",
    "glacier", "lantern", "mulberry", "orchid", "pelican", "quartz", "raccoon", "sardine",
    "thistle", "umber", "vulture", "willow", "almond", "badger", "cactus", "dolphin",
    "ember", "fennel", "gazelle", "hazel", "iguana", "jasmine", "kestrel", "lobster",
    "magnolia", "nectarine", "ocelot", "papaya", "quince", "rhubarb", "sorrel", "turnip",
)  # fmt: skip
"""Each needle gets a word of its own that the haystack does not know, so that no other fact can answer."""

_NUMBER = r"\s*(-?\d+)"
_EXPRESSION = r"([^#\n]+)"
_PARAMETERS = r"([^)\n]*)\)"


@dataclass(frozen=True, slots=True)
class Needle:
    """`facts` are hidden, each in a place of its own; `question` ends where the answer begins.

    `shape` is a regular expression whose first group is the answer within what was said. `program` holds
    `{answer}`; together with `test` it runs to its end only when the answer is right.
    """

    id: str
    kind: NeedleKind
    facts: tuple[str, ...]
    question: str
    expected: str
    shape: str
    program: str
    test: str

    def answer_in(self, said: str) -> str | None:
        """What counts as the answer in `said`, None when nothing does."""
        found = re.match(self.shape, said)
        return found[1].strip() if found else None

    def order(self, answer: str) -> tuple[str, tuple[Part, ...]]:
        """Program and test for the scorer."""
        return self.program.replace("{answer}", answer), (Part("base", ScriptCheck(self.test)),)


def make_needle(kind: NeedleKind, word: str, random: Random) -> Needle:
    """A needle around `word`, its numbers drawn from `random`."""
    return _MAKERS[kind](word, random)


def _constant(word: str, random: Random) -> Needle:
    name, value = f"{word.upper()}_RETRY_CEILING", random.randrange(10_000, 99_999)
    return Needle(
        id=f"constant-{word}",
        kind="constant",
        facts=(f"{name} = {value}\n",),
        question=f"\n\ndef test_{word}_retry_ceiling():\n    assert {name} == ",
        expected=str(value),
        shape=_NUMBER,
        program="value = {answer}\n",
        test=f"assert value == {value}",
    )


def _definition(word: str, random: Random) -> Needle:
    a, b, c = (random.randrange(2, 99) for _ in range(3))
    says = f'    """Mixes two {word} readings into one."""\n    return '
    inlined = f"def blend_{word}_inlined(left, right):\n{says}"
    return Needle(
        id=f"definition-{word}",
        kind="definition",
        facts=(f"def blend_{word}(left, right):\n{says}left * {a} + right * {b} - {c}\n",),
        question=f"\n\n# blend_{word} once more: the same result, computed here without a call.\n{inlined}",
        expected=f"left * {a} + right * {b} - {c}",
        shape=_EXPRESSION,
        program=inlined + "{answer}\n",
        test=(
            "for left, right in ((0, 0), (1, 0), (0, 1), (7, -3)):\n"
            f"    assert blend_{word}_inlined(left, right) == left * {a} + right * {b} - {c}"
        ),
    )


def _signature(word: str, random: Random) -> Needle:
    port, retries, mode = (
        random.randrange(1024, 9999),
        random.randrange(2, 30),
        random.choice(("eager", "lazy", "strict")),
    )
    shown = f"host, port={port}, *, retries={retries}, mode='{mode}'"
    opens = f"def open_{word}_channel("
    return Needle(
        id=f"signature-{word}",
        kind="signature",
        facts=(
            f'{opens}host, port={port}, *, retries={retries}, mode="{mode}"):\n'
            f'    """Opens a channel to the {word} station."""\n    return (host, port, retries, mode)\n',
        ),
        question=f"\n\n# The definition of open_{word}_channel once more, as it stands above:\n{opens}",
        expected=shown,
        shape=_PARAMETERS,
        program=opens + "{answer}): ...\n",
        test=f'import inspect\nassert str(inspect.signature(open_{word}_channel)) == "({shown})"',
    )


def _combined(word: str, random: Random) -> Needle:
    rate, fee = random.randrange(11, 99), random.randrange(100, 999)
    upper = word.upper()
    opens = (
        f"def {word}_charge(hours):\n"
        f'    """Hours times {upper}_RATE, plus {upper}_FEE, both written out as numbers."""\n'
        "    return hours * "
    )
    return Needle(
        id=f"combined-{word}",
        kind="combined",
        facts=(f"{upper}_RATE = {rate}\n", f"{upper}_FEE = {fee}\n"),
        question=f"\n\n{opens}",
        expected=f"{rate} + {fee}",
        shape=_EXPRESSION,
        program=opens + "{answer}\n",
        test=f"for hours in (0, 1, 13):\n    assert {word}_charge(hours) == hours * {rate} + {fee}",
    )


_MAKERS: dict[NeedleKind, Callable[[str, Random], Needle]] = {
    "constant": _constant,
    "definition": _definition,
    "signature": _signature,
    "combined": _combined,
}
