"""Runs an answer through one pass, or through all of them, in every chunking that matters."""

from __future__ import annotations

from typing import Protocol

import pytest

from codex.guard.fim.cleaner import PASSES, AnswerPass, FimCleaner
from codex.guard.fim.context import FimContext
from codex.guard.language import detect

CURSOR = "‸"


class Clean(Protocol):
    def __call__(
        self, language: str, source: str, answer: str, *passes: AnswerPass, single_line: bool = False
    ) -> str: ...


def _stream(ctx: FimContext, answer: str, size: int, passes: tuple[AnswerPass, ...]) -> str:
    cleaner = FimCleaner(ctx, passes)
    out = ""
    for start in range(0, len(answer), size):
        text, stop = cleaner.push(answer[start : start + size])
        out += text
        if stop:
            return out
    return out + cleaner.finish()


@pytest.fixture
def clean() -> Clean:
    """Cleans `answer` for `source`, where ‸ marks the cursor; no pass named means all."""

    def run(language: str, source: str, answer: str, *passes: AnswerPass, single_line: bool = False) -> str:
        prefix, suffix = source.split(CURSOR)
        ctx = FimContext.around(prefix, suffix, detect(language, None), single_line=single_line)
        whole = _stream(ctx, answer, len(answer) + 1, passes or PASSES)
        for size in (1, 2, 3, 7, 20):
            assert _stream(ctx, answer, size, passes or PASSES) == whole, f"chunks of {size}"
        return whole

    return run
