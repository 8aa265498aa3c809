"""The `openvino` backend as the rest of Codex sees it: requests in, chunks out. Knows no OpenVINO."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from itertools import count
from pathlib import Path

from codex.engine.openvino.answers import WorkerLost
from codex.engine.openvino.process import WORKER
from codex.engine.openvino.requests import Limits, submit_of
from codex.engine.openvino.supervisor import Patience, Supervisor
from codex.engine.openvino.wire import DENSE, Attention, Config, Step
from codex.errors import EngineCrashed
from codex.types import EngineChunk, EngineRequest, EngineStatus, ModelInfo, Tokenizer


class OpenVinoEngine:
    """Serves the IR folder `path` from a worker process of its own.

    `max_num_seqs` answers are computed in one step, `step_budget_ms` is the longest step while more than one
    request is in the engine, `kv_cache_bytes` bounds the cache, `threads` 0 uses every core. `attention`
    is how prompts are read; a sparse one leaves the step budget to the library's own fixed steps. `on_step`,
    which may be set at any time, is called with the figures of every engine step: the place for metrics.
    `command` starts a worker; tests give one that is scripted.
    """

    def __init__(
        self,
        path: Path,
        info: ModelInfo,
        tokenizer: Tokenizer,
        *,
        max_num_seqs: int = 64,
        step_budget_ms: float = 250.0,
        kv_cache_bytes: int = 2 << 30,
        threads: int = 0,
        attention: Attention = DENSE,
        patience: Patience | None = None,
        command: tuple[str, ...] = WORKER,
    ) -> None:
        self._info = info
        self._tokenizer = tokenizer
        self._ids = count(1)
        self.on_step: Callable[[Step], None] = lambda _: None
        config = Config(
            model_path=str(path),
            max_num_seqs=max_num_seqs,
            step_budget_ms=step_budget_ms,
            kv_cache_bytes=kv_cache_bytes,
            threads=threads,
            attention=attention,
        )
        self._supervisor = Supervisor(
            config, lambda step: self.on_step(step), patience or Patience(), command
        )

    @property
    def info(self) -> ModelInfo:
        return self._info

    @property
    def tokenizer(self) -> Tokenizer:
        return self._tokenizer

    async def start(self) -> None:
        await self._supervisor.start()

    async def stop(self) -> None:
        await self._supervisor.stop()

    def status(self) -> EngineStatus:
        return self._supervisor.status()

    async def generate(self, request: EngineRequest) -> AsyncGenerator[EngineChunk, None]:
        """See `Engine.generate`. A request that lost its worker before its first token is asked once more."""
        sent = False
        for last_try in (False, True):
            try:
                async with aclosing(self._attempt(request)) as chunks:
                    async for chunk in chunks:
                        sent = True
                        yield chunk
                return
            except WorkerLost as lost:
                if sent or last_try:
                    raise EngineCrashed(f"the engine died while answering: {lost}") from lost

    async def _attempt(self, request: EngineRequest) -> AsyncGenerator[EngineChunk, None]:
        ready = await self._supervisor.until_ready()
        limits = Limits(self._tokenizer.vocab_size, self._info.context_length, ready.max_sequence_tokens)
        submit = submit_of(request, next(self._ids), limits)
        answer = self._supervisor.open(submit)
        try:
            while True:
                chunk = await answer.next()
                yield chunk
                if chunk.finish is not None:
                    return
        finally:
            self._supervisor.close(submit.id)
