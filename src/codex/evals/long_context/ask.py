"""Asks a server for the needles of each haystack, and times how fast it reads. Knows no attention."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import anyio.to_thread

from codex.evals.journal import Journal, Record
from codex.evals.long_context.haystack import Haystack
from codex.evals.long_context.needles import Needle
from codex.evals.run import Tick, run_cases
from codex.evals.scoring import Scorer
from codex.evals.target import Target, TargetAnswer
from codex.evals.wire import Extras
from codex.types import Sampling, TextInput

ANSWER = Sampling(max_tokens=48, temperature=0.0, top_p=1.0)
_READ = Sampling(max_tokens=1, temperature=0.0, top_p=1.0)
READING = "reading"
"""Key of the record that times the first, cold reading of a haystack."""
REQUEST_S = 3600.0


def key_of(haystack: Haystack, what: str) -> str:
    return f"{haystack.tokens}/{what}"


async def ask_needles(
    haystacks: Sequence[Haystack],
    target: Target,
    scorer: Scorer,
    journal: Journal,
    *,
    tick: Tick = lambda: None,
    memory: Callable[[], int | None] = lambda: None,
) -> dict[str, Record]:
    """Records of every needle and of every first reading, one request at a time, shortest haystack first.

    Raises:
        ClientError: the server refused for good. What came before is in the journal.
    """
    work: dict[str, tuple[Haystack, Needle | None]] = {}
    for haystack in sorted(haystacks, key=lambda each: each.tokens):
        work[key_of(haystack, READING)] = (haystack, None)
        work |= {key_of(haystack, needle.id): (haystack, needle) for needle in haystack.needles}

    async def record(key: str) -> Record:
        haystack, needle = work[key]
        if needle is None:
            return await _reading(haystack, target, memory)
        return await _question(haystack, needle, target, scorer)

    return await run_cases(list(work), record, journal, concurrency=1, tick=tick)


async def _reading(haystack: Haystack, target: Target, memory: Callable[[], int | None]) -> Record:
    answer = await _complete(target, haystack.text, _READ)
    return _timing(answer) | {"peak_bytes": memory()}


async def _question(haystack: Haystack, needle: Needle, target: Target, scorer: Scorer) -> Record:
    answer = await _complete(target, haystack.prompt(needle), ANSWER, stop=("\n",))
    found = needle.answer_in(answer.text)
    right = found is not None and await anyio.to_thread.run_sync(_passes, scorer, needle, found)
    return _timing(answer) | {"text": answer.text, "right": right}


def _passes(scorer: Scorer, needle: Needle, answer: str) -> bool:
    return all(score.passed for score in scorer.score(*needle.order(answer)))


async def _complete(
    target: Target, text: str, sampling: Sampling, *, stop: tuple[str, ...] = ()
) -> TargetAnswer:
    return await target.complete(TextInput(text), sampling, stop=stop, extras=Extras(timeout_s=REQUEST_S))


def _timing(answer: TargetAnswer) -> Record:
    """`first_s` is the time to the first text, or to the end where there was none."""
    return {
        "prompt_tokens": answer.prompt_tokens,
        "first_s": answer.total_s if answer.ttft_s is None else answer.ttft_s,
        "total_s": answer.total_s,
    }
