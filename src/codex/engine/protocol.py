"""The one interface of everything that turns a prompt into tokens."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Protocol

from codex.types import EngineChunk, EngineRequest, EngineStatus, ModelInfo, Tokenizer


class Engine(Protocol):
    """Turns token ids into token ids. Closing the generator cancels the request in the engine."""

    @property
    def info(self) -> ModelInfo: ...

    @property
    def tokenizer(self) -> Tokenizer: ...

    async def start(self) -> None:
        """Returns when the first request can be answered.

        Raises:
            EngineUnavailable: the engine could not be brought up; the message names the cause.
        """
        ...

    async def stop(self) -> None:
        """Ends requests in flight and frees every process and byte. Safe to call twice."""
        ...

    def generate(self, request: EngineRequest) -> AsyncGenerator[EngineChunk, None]:
        """Yields chunks as they are computed; the last one has `finish`.

        `aclose()` (or cancellation of the task that iterates) frees the engine within one step,
        whether the request waits, is being prefilled or decodes.

        Raises:
            RequestError: ids or sampling values that this engine cannot take.
            EngineUnavailable: not started, or restarting and the request cannot wait.
            EngineCrashed: the engine died after part of the answer had been sent.
        """
        ...

    def status(self) -> EngineStatus: ...
