"""`bench engine`: prefill by length, decode by number of streams, for any subject. Bounded in time.

Knows no server; peers run the same plan on the same tokens, one after the other, never at the same time.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from codex.evals.bench_prompts import code
from codex.evals.bench_subjects import Arrivals, Subject
from codex.evals.report import JsonValue, Report, Table, machine_config
from codex.types import Tokenizer

PROBE_TOKENS = 256
STREAM_PROMPT_TOKENS = 64

Watch = Callable[[str], None]
"""Told what is measured next."""


@dataclass(frozen=True, slots=True)
class EnginePlan:
    """`seconds` bounds one subject: a prompt that would not fit into what is left is skipped and named."""

    lengths: tuple[int, ...] = (2048, 8192, 16384, 28672)
    streams: tuple[int, ...] = (1, 8, 16, 32)
    decode_tokens: int = 64
    seconds: float = 300.0

    @property
    def longest(self) -> int:
        return max((*self.lengths, PROBE_TOKENS)) + self.decode_tokens


@dataclass(frozen=True, slots=True)
class Streams:
    """Rates in tokens per second over all streams. `all_in` counts prefill too; `decode` from the moment when
    every stream has its first token."""

    all_in: float
    decode: float
    gap_ms_p50: float


@dataclass(slots=True)
class Measured:
    """`prefill` maps prompt tokens to seconds until the first token; `skipped` maps them to the seconds that
    they would have taken."""

    name: str
    prefill: dict[int, float] = field(default_factory=dict)
    skipped: dict[int, float] = field(default_factory=dict)
    streams: dict[int, Streams] = field(default_factory=dict)


async def measure(subject: Subject, plan: EnginePlan, tokenizer: Tokenizer, watch: Watch) -> Measured:
    """Streams first: they are short and what a team feels. Then prefill, from the shortest on."""
    found = Measured(subject.name)
    ends = time.monotonic() + plan.seconds
    watch(f"{subject.name}: warm-up")
    rate = PROBE_TOKENS / await _prefill(subject, 0, PROBE_TOKENS, tokenizer)
    for count in plan.streams:
        if count <= subject.max_streams:
            watch(f"{subject.name}: {count} streams")
            found.streams[count] = await _streams(subject, count, plan.decode_tokens, tokenizer)
    for number, length in enumerate(sorted(plan.lengths), 1):
        expected = length / rate
        if expected > ends - time.monotonic():
            found.skipped[length] = expected
            continue
        watch(f"{subject.name}: prefill of {length:,} tokens, about {expected:.0f} s")
        found.prefill[length] = await _prefill(subject, number, length, tokenizer)
        rate = length / found.prefill[length]
    return found


async def _prefill(subject: Subject, number: int, length: int, tokenizer: Tokenizer) -> float:
    _, prompt = code(number, length, tokenizer)
    return (await subject.answer([prompt], 1))[0][0]


async def _streams(subject: Subject, count: int, tokens: int, tokenizer: Tokenizer) -> Streams:
    first = 1000 * count
    prompts = [code(first + each, STREAM_PROMPT_TOKENS, tokenizer)[1] for each in range(count)]
    return stream_rates(await subject.answer(prompts, tokens))


def stream_rates(arrivals: Arrivals) -> Streams:
    """Rates of answers that were computed together; each has two tokens or more."""
    all_begun = max(each[0] for each in arrivals)
    end = max(each[-1] for each in arrivals)
    later = sum(at > all_begun for each in arrivals for at in each)
    gaps = [late - early for each in arrivals for early, late in itertools.pairwise(each)]
    return Streams(
        all_in=sum(map(len, arrivals)) / end,
        decode=later / (end - all_begun) if end > all_begun else 0.0,
        gap_ms_p50=median(gaps) * 1000,
    )


def engine_report(measured: Sequence[Measured], plan: EnginePlan, config: Mapping[str, JsonValue]) -> Report:
    """The first subject's figures stand at the top, all subjects' under `subjects`."""
    figures: dict[str, JsonValue] = dict(_figures(measured[0]))
    figures["subjects"] = {each.name: _figures(each) for each in measured}
    return Report(
        kind="bench-engine",
        figures=figures,
        config={**config, "machine": machine_config(), "decode_tokens": plan.decode_tokens},
        tables=(_prefill_table(measured, plan), _stream_table(measured, plan)),
    )


def _figures(found: Measured) -> dict[str, JsonValue]:
    return {
        "prefill_tokens_per_s": {str(length): length / took for length, took in found.prefill.items()},
        "skipped_prefill_s": {str(length): took for length, took in found.skipped.items()},
        "streams": {
            str(count): {
                "all_in_tokens_per_s": each.all_in,
                "decode_tokens_per_s": each.decode,
                "gap_ms_p50": each.gap_ms_p50,
            }
            for count, each in found.streams.items()
        },
    }


def _prefill_table(measured: Sequence[Measured], plan: EnginePlan) -> Table:
    columns = ["prompt tokens"]
    for each in measured:
        columns += [f"{each.name}: tokens/s", f"{each.name}: s"]
    rows = [
        (f"{length:,}", *(cell for each in measured for cell in _prefill_cells(each, length)))
        for length in sorted(plan.lengths)
    ]
    return Table("Prefill, one prompt, nothing cached", tuple(columns), tuple(rows))


def _prefill_cells(found: Measured, length: int) -> tuple[str | float, str | float]:
    took = found.prefill.get(length)
    if took is None:
        return "skipped", f"about {found.skipped[length]:.0f}"
    return length / took, took


def _stream_table(measured: Sequence[Measured], plan: EnginePlan) -> Table:
    columns = ["streams"]
    for each in measured:
        columns += [f"{each.name}: decode tokens/s", f"{each.name}: all in tokens/s", f"{each.name}: gap ms"]
    rows = [
        (str(count), *(cell for each in measured for cell in _stream_cells(each, count)))
        for count in plan.streams
    ]
    title = f"Decode, prompts of {STREAM_PROMPT_TOKENS} tokens, answers of {plan.decode_tokens}"
    return Table(title, tuple(columns), tuple(rows))


def _stream_cells(found: Measured, count: int) -> tuple[float | None, float | None, float | None]:
    each = found.streams.get(count)
    return (each.decode, each.all_in, each.gap_ms_p50) if each else (None, None, None)
