"""Answers as ASGI responses. A client that leaves, at any moment, cancels its requests. Knows no fields."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, replace

import anyio
import structlog
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from codex.errors import CodexError
from codex.observe import Record
from codex.pipeline import Pipeline, merge
from codex.serve.problems import INTERNAL, problem_of, render_problem
from codex.serve.shapes import DONE, Events, Whole, extension_of
from codex.types import AnswerChunk, FinishReason, Request, Usage

TRUNCATED_HEADER = b"x-codex-truncated-tokens"


@dataclass(frozen=True, slots=True)
class Errand:
    """One client's call: its requests, each with `n` answers, and what is echoed before those of each."""

    requests: Sequence[Request]
    records: Sequence[Record]
    echoes: Sequence[str]

    @property
    def answers(self) -> int:
        return sum(request.n for request in self.requests)

    @property
    def usage(self) -> Usage:
        return Usage(
            sum(record.prompt_tokens for record in self.records),
            sum(record.completion_tokens for record in self.records),
            sum(record.truncated_tokens for record in self.records),
        )

    def record_of(self, index: int) -> Record:
        """Of answer number `index`, counted over all requests (each has the same `n`)."""
        return self.records[index // self.requests[0].n]

    def chunks(self, pipeline: Pipeline) -> AsyncGenerator[AnswerChunk, None]:
        streams = [self._stream(pipeline, number, request) for number, request in enumerate(self.requests)]
        return streams[0] if len(streams) == 1 else merge(streams)

    def _stream(self, pipeline: Pipeline, number: int, request: Request) -> AsyncGenerator[AnswerChunk, None]:
        stream = pipeline.stream(request, self.records[number])
        if number == 0 and not self.echoes[0]:
            return stream
        return _placed(stream, number * request.n, self.echoes[number])


async def _placed(
    stream: AsyncGenerator[AnswerChunk, None], offset: int, echo: str
) -> AsyncGenerator[AnswerChunk, None]:
    """Answers moved to their numbers among all answers, each begun with `echo`."""
    begun: set[int] = set()
    async with aclosing(stream) as chunks:
        async for chunk in chunks:
            text = chunk.text if chunk.index in begun else echo + chunk.text
            begun.add(chunk.index)
            yield replace(chunk, index=chunk.index + offset, text=text)


class WholeAnswer(Response):
    """One JSON document once everything is there."""

    media_type = "application/json"

    def __init__(self, pipeline: Pipeline, errand: Errand, whole: Whole) -> None:
        super().__init__()
        self._pipeline = pipeline
        self._errand = errand
        self._whole = whole

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["state"]["on_road"] = True
        async with while_connected(receive):
            async with aclosing(self._errand.chunks(self._pipeline)) as chunks:
                async for chunk in chunks:
                    self._whole.add(chunk)
            usage = self._errand.usage
            headers = _truncated_header(usage)
            body = self._whole.render(usage)
            await Response(body, headers=headers, media_type=self.media_type)(scope, receive, send)


class StreamedAnswer(Response):
    """Server-sent events. The status waits for the first piece, so that an early error keeps its own."""

    media_type = "text/event-stream"

    def __init__(self, pipeline: Pipeline, errand: Errand, events: Events, *, usage: bool) -> None:
        super().__init__()
        self._pipeline = pipeline
        self._errand = errand
        self._events = events
        self._usage = usage

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["state"]["on_road"] = True
        async with while_connected(receive):
            async with aclosing(self._errand.chunks(self._pipeline)) as chunks:
                first = await anext(chunks)
                await send(self._start())
                await _send_event(send, self._piece(first))
                await self._send_rest(chunks, send)
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    def _start(self) -> dict[str, object]:
        headers = [
            (b"content-type", b"text/event-stream; charset=utf-8"),
            (b"cache-control", b"no-cache"),
            (b"x-accel-buffering", b"no"),
        ]
        truncated = _truncated_header(self._errand.usage)
        headers += [(name.encode(), value.encode()) for name, value in truncated.items()]
        return {"type": "http.response.start", "status": 200, "headers": headers}

    async def _send_rest(self, chunks: AsyncGenerator[AnswerChunk, None], send: Send) -> None:
        """An error after the first piece becomes the last event: a part must not pass for the whole."""
        try:
            async for chunk in chunks:
                await _send_event(send, self._piece(chunk))
        except CodexError as error:
            await _send_event(send, _error_event(error))
            return
        except Exception:  # noqa: BLE001 - logged, and told to the client without its text
            structlog.get_logger("codex.serve").exception("answer failed")
            await _send_event(send, _error_event(INTERNAL))
            return
        if self._usage:
            await _send_event(send, self._events.usage(self._errand.usage))
        await _send_event(send, DONE)

    def _piece(self, chunk: AnswerChunk) -> bytes:
        if not chunk.finish:
            return self._events.piece(chunk)
        usage = self._errand.record_of(chunk.index).usage
        extension = extension_of(usage, timed_out=chunk.finish is FinishReason.TIMEOUT)
        return self._events.piece(chunk, extension)


async def _send_event(send: Send, event: bytes) -> None:
    await send({"type": "http.response.body", "body": event, "more_body": True})


def _error_event(error: CodexError) -> bytes:
    return b"data: " + render_problem(problem_of(error)) + b"\n\n"


def _truncated_header(usage: Usage) -> dict[str, str]:
    return {TRUNCATED_HEADER.decode(): str(usage.truncated_tokens)} if usage.truncated_tokens else {}


@asynccontextmanager
async def while_connected(receive: Receive) -> AsyncGenerator[None, None]:
    """Runs its body until the client leaves; then the body is cancelled, and whatever it started with it.

    An error of the body comes out as itself, not as a group.
    """
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_cancel_on_disconnect, receive, tasks.cancel_scope)
            yield
            tasks.cancel_scope.cancel()
    except BaseExceptionGroup as group:
        raise group.exceptions[0] from None


async def _cancel_on_disconnect(receive: Receive, scope: anyio.CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()
