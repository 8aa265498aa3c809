"""A scripted engine for tests of everything that is not a model. Knows no real tokens: a byte is a token."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator, Callable

import anyio

from codex.errors import EngineUnavailable
from codex.types import (
    EngineChunk,
    EngineRequest,
    EngineState,
    EngineStatus,
    FinishReason,
    ModelInfo,
    ReleaseId,
)

SPECIAL_TOKENS = {
    name: 256 + number
    for number, name in enumerate(
        (
            "<|endoftext|>",
            "<|im_start|>",
            "<|im_end|>",
            "<|fim_prefix|>",
            "<|fim_middle|>",
            "<|fim_suffix|>",
            "<|fim_pad|>",
            "<|repo_name|>",
            "<|file_sep|>",
        )
    )
}


class ByteTokenizer:
    """UTF-8 bytes are the ids 0 to 255; the special tokens of Qwen2.5-Coder follow."""

    vocab_size = 256 + len(SPECIAL_TOKENS)

    def encode(self, text: str) -> list[int]:
        return list(text.encode("utf-8", errors="replace"))

    def token_bytes(self, token: int) -> bytes:
        return bytes([token]) if token < 256 else b""

    def special(self, name: str) -> int:
        return SPECIAL_TOKENS[name]


Script = Callable[[EngineRequest], str]


def _default_script(request: EngineRequest) -> str:
    """Text that depends on the prompt and the seed alone, so that equal requests get equal answers."""
    digest = hashlib.sha256(repr((request.tokens, request.sampling.seed)).encode()).hexdigest()
    return f"value_{digest[:8]} = {int(digest[8:12], 16)}\n"


class MockEngine:
    """Answers with `script(request)`, one token (byte) a step, `step_s` seconds a step.

    `prefill_s` passes before the first token. `cancelled` lists the ids of requests that were closed early,
    `seen` every request in order.
    """

    def __init__(
        self,
        script: Script | str = _default_script,
        *,
        step_s: float = 0.0,
        prefill_s: float = 0.0,
        context_length: int = 32_768,
        name: str = "mock",
    ) -> None:
        self._script: Script = script if callable(script) else lambda _: script
        self._step_s = step_s
        self._prefill_s = prefill_s
        self._running = 0
        self._state = EngineState.STOPPED
        self._info = ModelInfo(
            name=name,
            release=ReleaseId(hashlib.sha256(f"mock {name}".encode()).hexdigest()),
            context_length=context_length,
            template="qwen2.5-coder",
            quant="none",
            backend="mock",
        )
        self.seen: list[EngineRequest] = []
        self.cancelled: list[str] = []

    @property
    def info(self) -> ModelInfo:
        return self._info

    @property
    def tokenizer(self) -> ByteTokenizer:
        return ByteTokenizer()

    async def start(self) -> None:
        self._state = EngineState.READY

    async def stop(self) -> None:
        self._state = EngineState.STOPPED

    def status(self) -> EngineStatus:
        return EngineStatus(state=self._state, running=self._running)

    async def generate(self, request: EngineRequest) -> AsyncGenerator[EngineChunk, None]:
        if self._state is not EngineState.READY:
            raise EngineUnavailable("the mock engine is not started: call start() first")
        self.seen.append(request)
        self._running += 1
        done = False
        try:
            await anyio.sleep(self._prefill_s)
            for chunk in self._chunks(request):
                await anyio.sleep(self._step_s)
                done = chunk.finish is not None
                yield chunk
        finally:
            self._running -= 1
            if not done:
                self.cancelled.append(request.id)

    def _chunks(self, request: EngineRequest) -> list[EngineChunk]:
        tokens = self.tokenizer.encode(self._script(request))
        kept = tokens[: request.sampling.max_tokens]
        finish = FinishReason.STOP if len(kept) == len(tokens) else FinishReason.LENGTH
        logprobs = (-0.5,) if request.sampling.logprobs else ()
        chunks = [EngineChunk((token,), logprobs) for token in kept]
        return [*chunks, EngineChunk((), finish=finish)]
