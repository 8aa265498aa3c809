"""What `bench` can measure side by side, behind one small interface. Knows no table."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Protocol

from codex.engine.openvino.bare import BareEngine
from codex.engine.protocol import Engine
from codex.errors import EngineUnavailable
from codex.evals.bench_load import together
from codex.types import EngineRequest, Sampling

Arrivals = list[list[float]]
"""For each prompt, for each token of its answer: seconds since all prompts were handed over."""


class Subject(Protocol):
    """`max_streams`: how many answers it can compute at the same time."""

    @property
    def name(self) -> str: ...

    @property
    def max_streams(self) -> int: ...

    async def answer(self, prompts: Sequence[Sequence[int]], max_tokens: int) -> Arrivals:
        """Greedy answers of exactly `max_tokens` tokens, all prompts at once."""
        ...


class EngineSubject:
    """Our engine as the server uses it: in a worker process, paced."""

    name = "codex (openvino)"
    max_streams = 64

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._number = 0

    async def answer(self, prompts: Sequence[Sequence[int]], max_tokens: int) -> Arrivals:
        started = time.perf_counter()
        return await together(self._one(prompt, max_tokens, started) for prompt in prompts)

    async def _one(self, prompt: Sequence[int], max_tokens: int, started: float) -> list[float]:
        self._number += 1
        sampling = Sampling(max_tokens=max_tokens, temperature=0.0, top_p=1.0)
        request = EngineRequest(f"bench-{self._number}", tuple(prompt), sampling)
        arrivals: list[float] = []
        async with aclosing(self._engine.generate(request)) as chunks:
            async for chunk in chunks:
                arrivals += [time.perf_counter() - started] * len(chunk.tokens)
        return arrivals


@asynccontextmanager
async def running(engine: Engine) -> AsyncGenerator[EngineSubject, None]:
    """Starts the engine, and stops it whatever happens."""
    await engine.start()
    try:
        yield EngineSubject(engine)
    finally:
        await engine.stop()


class BareSubject:
    """The library alone, in this process: nothing of ours in between."""

    name = "bare engine"
    max_streams = 64

    def __init__(self, folder: Path, *, kv_cache_bytes: int, threads: int) -> None:
        try:
            self._engine = BareEngine(folder, kv_cache_bytes=kv_cache_bytes, threads=threads)
        except RuntimeError as error:
            raise EngineUnavailable(f"the bare engine could not load {folder}: {error}") from error

    async def answer(self, prompts: Sequence[Sequence[int]], max_tokens: int) -> Arrivals:
        """Blocks the event loop on purpose: nothing else may run while the baseline is measured."""
        return [answer.at_s for answer in self._engine.run(prompts, max_tokens=max_tokens)]
