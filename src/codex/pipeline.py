"""The road of a request: admit, prompt, generate, guard, answer, record. Knows no transport."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from typing import TypeVar

import anyio
import anyio.to_thread
from anyio.streams.memory import MemoryObjectSendStream

from codex.access import Admission
from codex.engine.protocol import Engine
from codex.engine.text import TokenDecoder
from codex.errors import CodexError, EngineError, RequestTimeout
from codex.guard import load_grammars, make_cleaner
from codex.observe import Metrics, Record
from codex.observe.logging import log_request
from codex.prompt import build_prompt
from codex.settings import Settings
from codex.types import (
    AnswerChunk,
    ChatInput,
    EngineChunk,
    EngineRequest,
    FimInput,
    FinishReason,
    Prompt,
    Request,
    Tokenizer,
    TokenLogprob,
)

T = TypeVar("T")

LONG_INPUT_CHARACTERS = 50_000
"""Longer input is encoded in a thread: at about 1 M characters/s the event loop would stall for 50 ms."""

CLOSING_S = 5.0
"""Longest time that an engine may take to let go of a request; it needs one step."""


class Pipeline:
    """Answers requests with one engine. Transports are built on `stream` alone."""

    def __init__(self, engine: Engine, settings: Settings, *, metrics: Metrics | None = None) -> None:
        self.engine = engine
        self.settings = settings
        self.admission = Admission(settings.max_concurrent, settings.queue_size)
        self.metrics = metrics or Metrics()
        self.metrics.watch(engine.status, self.admission)
        self._serial = count()
        load_grammars()

    def record(self, request: Request) -> Record:
        """A fresh record of `request`: give it to `stream` to read usage and times while it is filled."""
        return Record.of(request, self.engine.info.release)

    async def stream(
        self, request: Request, record: Record | None = None
    ) -> AsyncGenerator[AnswerChunk, None]:
        """The answers to `request` in pieces; each of the `n` answers ends with a piece that has `finish`.

        Closing the generator, or cancelling the task that iterates it, frees the place and the engine at
        once. `record.usage` counts whatever was computed, however the road ended.

        Raises:
            Overloaded: all places are taken and the queue is full.
            RequestError: no prompt can be built from it, or it does not fit the model's window.
            RequestTimeout: time ran out before the first token; later the answers end with `TIMEOUT`.
            EngineError: the engine is not ready, failed or died.
        """
        record = record or self.record(request)
        deadline = anyio.current_time() + (request.timeout_s or self.settings.request_timeout_s)
        try:
            async with self._admitted(deadline):
                record.started_at = time.perf_counter()
                prompt = await self._prompt(request, deadline)
                record.prompted(prompt)
                async with aclosing(self._answers(request, prompt, record, deadline)) as chunks:
                    async for chunk in chunks:
                        self._observe(chunk, record)
                        yield chunk
        except Exception as error:
            record.status = error.code if isinstance(error, CodexError) else CodexError.code
            raise
        finally:
            self._write_down(record)

    @asynccontextmanager
    async def _admitted(self, deadline: float) -> AsyncGenerator[None, None]:
        place = self.admission.place()
        with anyio.CancelScope(deadline=deadline) as waiting:
            await place.__aenter__()
        if waiting.cancelled_caught:
            raise RequestTimeout("time ran out while the request waited for a place")
        try:
            yield
        finally:
            await place.__aexit__(None, None, None)

    async def _prompt(self, request: Request, deadline: float) -> Prompt:
        build = partial(
            build_prompt,
            request,
            tokenizer=self.engine.tokenizer,
            context_length=self.engine.info.context_length,
        )
        if _input_characters(request) < LONG_INPUT_CHARACTERS:
            return build()
        with anyio.CancelScope(deadline=deadline):
            return await anyio.to_thread.run_sync(build, abandon_on_cancel=True)
        raise RequestTimeout("time ran out while the prompt was built")

    def _answers(
        self, request: Request, prompt: Prompt, record: Record, deadline: float
    ) -> AsyncGenerator[AnswerChunk, None]:
        answers = [self._answer(index, request, prompt, record, deadline) for index in range(request.n)]
        return answers[0] if request.n == 1 else merge(answers)

    async def _answer(
        self, index: int, request: Request, prompt: Prompt, record: Record, deadline: float
    ) -> AsyncGenerator[AnswerChunk, None]:
        """Answer number `index`: tokens from the engine become text, and the guard decides what leaves."""
        text = _AnswerText(index, request, self.engine.tokenizer)
        async with _released(self.engine.generate(self._engine_request(index, request, prompt))) as chunks:
            while True:
                with anyio.CancelScope(deadline=deadline) as waiting:
                    chunk = await anext(chunks, None)
                if waiting.cancelled_caught:
                    yield _timed_out(text, record)
                    return
                if chunk is None:
                    raise EngineError("the engine ended an answer without a reason")
                record.completion_tokens += len(chunk.tokens)
                piece = text.push(chunk)
                if piece.text or piece.finish:
                    yield piece
                if piece.finish:
                    return

    def _engine_request(self, index: int, request: Request, prompt: Prompt) -> EngineRequest:
        """Clients may repeat an id, engines must not see one twice: hence the serial number."""
        sampling = request.sampling
        if sampling.seed is not None:
            sampling = replace(sampling, seed=sampling.seed + index)
        return EngineRequest(
            f"{request.id}/{next(self._serial)}", prompt.tokens, sampling, prompt.stop_token_ids
        )

    def _observe(self, chunk: AnswerChunk, record: Record) -> None:
        if chunk.text:
            self.metrics.requests.text(record)
        if chunk.finish:
            record.finished(chunk.finish)

    def _write_down(self, record: Record) -> None:
        record.ended_at = time.perf_counter()
        self.metrics.requests.ended(record)
        log_request(record)


def _timed_out(text: _AnswerText, record: Record) -> AnswerChunk:
    if not record.completion_tokens:
        raise RequestTimeout("time ran out before the first token")
    return text.end(FinishReason.TIMEOUT)


def _input_characters(request: Request) -> int:
    source = request.input
    if isinstance(source, FimInput):
        return len(source.prefix) + len(source.suffix) + sum(len(file.text) for file in source.context)
    if isinstance(source, ChatInput):
        return sum(len(message.content) for message in source.messages)
    return len(source.text)


class _AnswerText:
    """The text of one answer: bytes become characters, and the guard decides which of them leave."""

    def __init__(self, index: int, request: Request, tokenizer: Tokenizer) -> None:
        self._index = index
        self._decoder = TokenDecoder(tokenizer)
        self._cleaner = make_cleaner(request)
        self._logprobs = _Logprobs(tokenizer) if request.sampling.logprobs else None

    def push(self, chunk: EngineChunk) -> AnswerChunk:
        if self._logprobs:
            self._logprobs.push(chunk)
        raw = self._decoder.push(chunk.tokens)
        if chunk.finish:
            return self.end(chunk.finish, raw)
        text, stop = self._cleaner.push(raw)
        return self._piece(text, FinishReason.STOP if stop else None)

    def end(self, finish: FinishReason, raw: str = "") -> AnswerChunk:
        """The last piece: `raw` and everything that was held back in the hope of more."""
        text, stop = self._cleaner.push(raw + self._decoder.finish())
        if stop:
            return self._piece(text, FinishReason.STOP)
        return self._piece(text + self._cleaner.finish(), finish)

    def _piece(self, text: str, finish: FinishReason | None) -> AnswerChunk:
        logprobs = self._logprobs.up_to(len(text)) if self._logprobs else ()
        return AnswerChunk(self._index, text, logprobs, finish)


class _Logprobs:
    """Log-probabilities of the tokens whose text has left. Offsets count characters as generated."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._decoder = TokenDecoder(tokenizer)
        self._held: list[TokenLogprob] = []
        self._generated = 0
        self._sent = 0

    def push(self, chunk: EngineChunk) -> None:
        for token, logprob in zip(chunk.tokens, chunk.logprobs, strict=True):
            raw = self._tokenizer.token_bytes(token)
            shown = raw.decode("utf-8", "replace")
            self._held.append(TokenLogprob(shown, raw, logprob, self._generated))
            self._generated += len(self._decoder.push((token,)))

    def up_to(self, characters: int) -> tuple[TokenLogprob, ...]:
        """Those not yet given whose text starts within the next `characters` that leave."""
        self._sent += characters
        ready = tuple(held for held in self._held if held.offset < self._sent)
        del self._held[: len(ready)]
        return ready


@asynccontextmanager
async def _released(stream: AsyncGenerator[T, None]) -> AsyncGenerator[AsyncGenerator[T, None], None]:
    """Closes an engine's `stream` on every way out, and lets it finish that when the task is being cancelled.

    Only for a generator without a cancel scope of its own around a `yield`: scopes must close in order.
    """
    try:
        yield stream
    finally:
        with anyio.move_on_after(CLOSING_S, shield=True):
            await stream.aclose()


@dataclass(frozen=True, slots=True)
class _Ended:
    error: Exception | None = None


async def merge(streams: Sequence[AsyncGenerator[T, None]]) -> AsyncGenerator[T, None]:
    """The items of all `streams` as they come. The first error of one ends all.

    Errors travel as values and `GeneratorExit` is taken as an order to stop: neither may pass through the
    task group while this generator is suspended in its consumer (https://peps.python.org/pep-0789/).
    """
    send, receive = anyio.create_memory_object_stream[T | _Ended](len(streams))
    running = len(streams)
    error: Exception | None = None
    async with send, receive, anyio.create_task_group() as tasks:
        for stream in streams:
            tasks.start_soon(_pump, stream, send)
        while running and not error:
            item = await receive.receive()
            if isinstance(item, _Ended):
                running, error = running - 1, item.error
                continue
            try:
                yield item
            except GeneratorExit:
                break
        tasks.cancel_scope.cancel()
    if error:
        raise error


async def _pump(stream: AsyncGenerator[T, None], send: MemoryObjectSendStream[T | _Ended]) -> None:
    error: Exception | None = None
    try:
        async with aclosing(stream):
            async for item in stream:
                await send.send(item)
    except Exception as raised:  # noqa: BLE001 - merge raises it again, in its own task
        error = raised
    await send.send(_Ended(error))
