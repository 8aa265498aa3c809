"""What a check hands over: symptom, cause and fix. Knows no check."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from codex.settings import Settings


class State(StrEnum):
    OK = "ok"
    WARNING = "warning"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """`found` is what was seen; `fix` says what to do, empty where nothing needs doing."""

    name: str
    state: State
    found: str
    fix: str = ""


def ok(name: str, found: str) -> Diagnosis:
    return Diagnosis(name, State.OK, found)


def warning(name: str, found: str, fix: str) -> Diagnosis:
    return Diagnosis(name, State.WARNING, found, fix)


def broken(name: str, found: str, fix: str) -> Diagnosis:
    return Diagnosis(name, State.BROKEN, found, fix)


Check = Callable[[Settings], Diagnosis]
"""Looks at one thing as these settings would use it."""
