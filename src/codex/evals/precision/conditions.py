"""Under which precision and wording a benchmark is run. The first one is what others are paired with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from codex.evals.precision.wordings import Wording
from codex.settings import QuantMode


@dataclass(frozen=True, slots=True)
class Condition:
    quant: QuantMode
    wording: Wording = "begun"

    @property
    def label(self) -> str:
        return self.quant if self.wording == "begun" else f"{self.quant}, {self.wording} prompt"


def conditions_of(quants: Sequence[QuantMode], wordings: Sequence[Wording]) -> tuple[Condition, ...]:
    """One change at a time: every precision with the first wording, every wording with the first precision.

    Conditions of one precision stand together, so that each precision is served once.
    """
    first = [Condition(quants[0], wording) for wording in wordings]
    return tuple(dict.fromkeys([*first, *(Condition(quant, wordings[0]) for quant in quants)]))
