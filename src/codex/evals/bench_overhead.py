"""`bench overhead`: what the server adds to the bare engine, measured in one run in alternating rounds.

The same prompts go to the bare engine in this process and to a server by URL, never both at the same time,
and the order changes from round to round, so that a drift of the machine hits both alike.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from codex.errors import EvaluationError
from codex.evals.bench_engine import Watch
from codex.evals.bench_load import Connection, Timing, all_at_once, connections
from codex.evals.bench_prompts import code
from codex.evals.bench_subjects import Subject
from codex.evals.report import JsonValue, Report, Table, machine_config
from codex.prompt import build_prompt
from codex.types import FimInput, Request, Sampling, TextInput, Tokenizer

PATH = "/v1/completions"
SUFFIX = "\n    return result\n"
LEAST_ROUNDS = 3
"""Counted rounds of each figure, also when the time is up: a median of less says nothing."""
CACHED_PROMPTS = 8
"""The cache holds whole blocks of 32 tokens, and what is over is read again: one length would be luck."""
TTFT_TOKENS = 4
"""More than one, so that text which the server holds back for a while counts as late."""


@dataclass(frozen=True, slots=True)
class OverheadPlan:
    """`seconds` bounds the rounds; loading the engines and reading the first prompt come on top."""

    seconds: float = 100.0
    prompt_tokens: int = 1500
    streams: int = 16
    stream_tokens: int = 32
    most_rounds: int = 40


@dataclass(slots=True)
class Pair:
    """The same figure of both sides, round by round."""

    bare: list[float] = field(default_factory=list)
    server: list[float] = field(default_factory=list)

    @property
    def added(self) -> float:
        """Median of the differences within a round."""
        return median(server - bare for bare, server in zip(self.bare, self.server, strict=True))

    @property
    def ratio(self) -> float:
        """Median of server over bare within a round."""
        return median(server / bare for bare, server in zip(self.bare, self.server, strict=True))


@dataclass(slots=True)
class Overhead:
    """Seconds, and tokens per second for `throughput`."""

    ttft: Pair = field(default_factory=Pair)
    typed_ttft: Pair = field(default_factory=Pair)
    gap: Pair = field(default_factory=Pair)
    throughput: Pair = field(default_factory=Pair)


@dataclass(frozen=True, slots=True)
class _Sent:
    """One prompt as tokens for the bare engine and as a body for the server."""

    tokens: tuple[int, ...]
    body: Mapping[str, object]


class _Prompts:
    def __init__(self, tokenizer: Tokenizer, context_length: int, plan: OverheadPlan) -> None:
        self._tokenizer = tokenizer
        self._context_length = context_length
        self._prefix, _ = code(7, plan.prompt_tokens - 60, tokenizer)

    def fim(self, typed: str = "") -> _Sent:
        """A gap in a file of `prompt_tokens` tokens; `typed` stands right before the cursor."""
        prefix = f"{self._prefix}def summarise(orders):\n    total = 0\n{typed}    result ="
        return self._sent(FimInput(prefix, SUFFIX), {"prompt": prefix, "suffix": SUFFIX}, TTFT_TOKENS)

    def stream(self, number: int, tokens: int) -> _Sent:
        """A table that goes on and on, so that its answer does not end early."""
        text = f"multiples_of_{number} = [{', '.join(str(number * each) for each in range(1, 12))}, "
        return self._sent(TextInput(text), {"prompt": text}, tokens)

    def _sent(self, source: FimInput | TextInput, body: dict[str, object], tokens: int) -> _Sent:
        request = Request("bench", source, Sampling(max_tokens=tokens, temperature=0.0, top_p=1.0))
        prompt = build_prompt(request, tokenizer=self._tokenizer, context_length=self._context_length)
        sampling = {"max_tokens": tokens, "temperature": 0, "top_p": 1, "timeout": 600}
        streaming = {"stream": True, "stream_options": {"include_usage": True}}
        return _Sent(prompt.tokens, {**body, **sampling, **streaming})


async def overhead(
    bare: Subject, url: str, tokenizer: Tokenizer, context_length: int, plan: OverheadPlan, watch: Watch
) -> Overhead:
    """Runs all rounds against the server at `url`, which must serve the model that `bare` has loaded.

    Raises:
        EvaluationError: the server is not there, or reads these prompts as other tokens.
    """
    prompts = _Prompts(tokenizer, context_length, plan)
    found = Overhead()
    async with connections(url, plan.streams) as opened:
        watch("reading the prompts for the first time")
        warm = [prompts.fim("    total += 1\n" * lines) for lines in range(CACHED_PROMPTS)]
        for sent in warm:
            await bare.answer([sent.tokens], 1)
            _check_same((await opened[0].stream(PATH, sent.body)), sent)
        watch("time to first token, everything cached")
        cached = _ttft(bare, opened[0], lambda number: warm[number % CACHED_PROMPTS])
        await _rounds(found.ttft, cached, plan, share=0.25)
        watch("time to first token, a line typed since")
        typed = _ttft(bare, opened[0], lambda number: prompts.fim(f"    total += {number}\n"))
        await _rounds(found.typed_ttft, typed, plan, share=0.25)
        watch("gap between tokens, one stream")
        single = prompts.stream(500, plan.stream_tokens)
        await _rounds(found.gap, _gaps(bare, opened[0], single, plan), plan, share=0.15)
        watch(f"choosing {plan.streams} prompts whose answers do not end early")
        chosen = await _long_answers(opened, prompts, plan)
        watch(f"throughput, {plan.streams} streams")
        await _rounds(found.throughput, _throughput(bare, opened, chosen, plan), plan, share=0.35)
    return found


def _check_same(timing: Timing, sent: _Sent) -> None:
    if timing.prompt_tokens != len(sent.tokens):
        raise EvaluationError(
            f"the server read {timing.prompt_tokens} prompt tokens where {len(sent.tokens)} were meant: "
            "it serves another model or another template"
        )


_Side = Callable[[int], Awaitable[float]]


async def _rounds(pair: Pair, sides: tuple[_Side, _Side], plan: OverheadPlan, *, share: float) -> None:
    """A first round that does not count, then rounds until `share` of the time is used up."""
    ends = time.monotonic() + plan.seconds * share
    number = 0
    while number <= LEAST_ROUNDS or (time.monotonic() < ends and number <= plan.most_rounds):
        bare, server = await _round(sides, number)
        if number:
            pair.bare.append(bare)
            pair.server.append(server)
        number += 1


async def _round(sides: tuple[_Side, _Side], number: int) -> tuple[float, float]:
    bare_side, server_side = sides
    if number % 2:
        bare = await bare_side(number)
        return bare, await server_side(number)
    server = await server_side(number)
    return await bare_side(number), server


def _ttft(bare: Subject, connection: Connection, prompt: Callable[[int], _Sent]) -> tuple[_Side, _Side]:
    async def bare_side(number: int) -> float:
        return (await bare.answer([prompt(number).tokens], TTFT_TOKENS))[0][0]

    async def server_side(number: int) -> float:
        return (await connection.stream(PATH, prompt(number).body)).ttft_s

    return bare_side, server_side


def _gaps(bare: Subject, connection: Connection, sent: _Sent, plan: OverheadPlan) -> tuple[_Side, _Side]:
    async def bare_side(_: int) -> float:
        (at,) = await bare.answer([sent.tokens], plan.stream_tokens)
        return median(later - earlier for earlier, later in itertools.pairwise(at))

    async def server_side(_: int) -> float:
        return median((await connection.stream(PATH, sent.body)).gaps_s)

    return bare_side, server_side


async def _long_answers(opened: Sequence[Connection], prompts: _Prompts, plan: OverheadPlan) -> list[_Sent]:
    """The bare engine ignores end tokens and the server must not, so prompts that end early would compare
    full batches with half-empty ones."""
    chosen: list[_Sent] = []
    async for sent, timing in _tried(opened, prompts, plan):
        if timing.tokens == plan.stream_tokens:
            chosen.append(sent)
        if len(chosen) == plan.streams:
            return chosen
    raise EvaluationError(
        f"only {len(chosen)} of the tried prompts have answers of {plan.stream_tokens} tokens"
    )


async def _tried(
    opened: Sequence[Connection], prompts: _Prompts, plan: OverheadPlan
) -> AsyncGenerator[tuple[_Sent, Timing], None]:
    for first in (100, 200, 300):
        sents = [prompts.stream(first + each, plan.stream_tokens) for each in range(plan.streams)]
        timings = await all_at_once(opened, PATH, [sent.body for sent in sents])
        for pair in zip(sents, timings, strict=True):
            yield pair


def _throughput(
    bare: Subject, opened: Sequence[Connection], chosen: Sequence[_Sent], plan: OverheadPlan
) -> tuple[_Side, _Side]:
    """Tokens per second from sending to the last token, over all streams."""

    async def bare_side(_: int) -> float:
        arrivals = await bare.answer([sent.tokens for sent in chosen], plan.stream_tokens)
        return sum(map(len, arrivals)) / max(each[-1] for each in arrivals)

    async def server_side(_: int) -> float:
        started = time.perf_counter()
        timings = await all_at_once(opened, PATH, [sent.body for sent in chosen])
        return sum(timing.tokens for timing in timings) / (time.perf_counter() - started)

    return bare_side, server_side


def overhead_report(found: Overhead, plan: OverheadPlan, config: Mapping[str, JsonValue]) -> Report:
    streams = plan.streams
    figures: dict[str, JsonValue] = {
        "ttft_added_ms_p50": found.ttft.added * 1000,
        f"throughput_ratio_{streams}": found.throughput.ratio,
        "warm_ttft_ms_p50": median(found.ttft.server) * 1000,
        "typed_ttft_ms_p50": median(found.typed_ttft.server) * 1000,
        "typed_ttft_added_ms_p50": found.typed_ttft.added * 1000,
        "decode_gap_ms_p50": median(found.gap.server) * 1000,
        "decode_gap_added_ms_p50": found.gap.added * 1000,
        f"throughput_tokens_per_s_{streams}": median(found.throughput.server),
        "rounds": {
            "ttft": len(found.ttft.bare),
            "typed_ttft": len(found.typed_ttft.bare),
            "gap": len(found.gap.bare),
            "throughput": len(found.throughput.bare),
        },
    }
    settings: dict[str, JsonValue] = {
        "prompt_tokens": plan.prompt_tokens,
        "streams": streams,
        "stream_tokens": plan.stream_tokens,
        "machine": machine_config(),
    }
    return Report("bench-overhead", figures, {**config, **settings}, tables=(_table(found, plan),))


def _table(found: Overhead, plan: OverheadPlan) -> Table:
    prompt = f"{plan.prompt_tokens:,}-token FIM prompt"
    rows = (
        _row(f"TTFT ms, {prompt}, all cached", found.ttft, 1000),
        _row(f"TTFT ms, {prompt}, a line typed since", found.typed_ttft, 1000),
        _row("gap ms, one stream", found.gap, 1000),
        _row(f"tokens/s, {plan.streams} streams", found.throughput, 1),
    )
    columns = ("median of rounds", "bare engine", "through REST", "added", "ratio", "rounds")
    return Table("What the server adds", columns, rows)


def _row(name: str, pair: Pair, factor: float) -> tuple[str | float | None, ...]:
    return (
        name,
        median(pair.bare) * factor,
        median(pair.server) * factor,
        pair.added * factor,
        pair.ratio,
        len(pair.bare),
    )
