"""What a benchmark task is, whatever data set it comes from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from codex.evals.scoring import Part

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class CodeTask:
    """Write the function `entry_point`.

    `prompt` is Python text that ends where an answer begins. `reference` is a whole program that is right.
    `parts` are the tests; the first one decides `pass_at_1`.
    """

    id: str
    entry_point: str
    prompt: str
    reference: str
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class FillTask:
    """Fill in between `prefix` and `suffix`. `middle` is the right text; `parts` test the whole program."""

    id: str
    language: str
    prefix: str
    suffix: str
    middle: str
    parts: tuple[Part, ...] = ()


def spread(tasks: Sequence[T], limit: int | None) -> tuple[T, ...]:
    """At most `limit` tasks, evenly spread over all, because neighbours are alike. None: all."""
    if limit is None or limit >= len(tasks):
        return tuple(tasks)
    return tuple(tasks[number * len(tasks) // limit] for number in range(limit))
