"""Composes what an answer passes on its way out: special tokens, stop strings, clean-up. Knows requests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from codex.guard.cut import Cleaned
from codex.guard.fim import FimCleaner, FimContext
from codex.guard.special import SPELLED_SPECIAL_TOKENS
from codex.guard.stop import StopStrings
from codex.types import FimInput, Request


class Cleaner(Protocol):
    """Takes an answer's text in any chunks and gives out what may leave.

    After a chunk with `stop` the answer is over: later pushes give nothing.
    """

    def push(self, text: str) -> Cleaned: ...

    def finish(self) -> str:
        """The rest, once the answer has ended."""
        ...


class Chain:
    """Cleaners one after the other; where one ends the answer, those behind it finish."""

    def __init__(self, stages: Sequence[Cleaner]) -> None:
        self._stages = tuple(stages)
        self._stopped = False

    def push(self, text: str) -> Cleaned:
        if self._stopped:
            return Cleaned("", stop=True)
        for stage in self._stages:
            if self._stopped:
                text = stage.push(text).text + stage.finish()
            else:
                text, self._stopped = stage.push(text)
        return Cleaned(text, self._stopped)

    def finish(self) -> str:
        if self._stopped:
            return ""
        self._stopped = True
        text = ""
        for stage in self._stages:
            text = stage.push(text).text + stage.finish()
        return text


def make_cleaner(request: Request) -> Cleaner:
    """What one answer of `request` passes; each answer needs one of its own."""
    stages: list[Cleaner] = [StopStrings(SPELLED_SPECIAL_TOKENS)]
    if request.stop:
        stages.append(StopStrings(request.stop))
    if isinstance(request.input, FimInput) and request.cleanup:
        stages.append(FimCleaner(FimContext.of(request, request.input)))
    return Chain(stages)
