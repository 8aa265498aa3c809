"""An answer that arrives in pieces, for threads and for asyncio. Knows no request and no retry.

Each step of the iteration is a pending read with a limited wait: when `chunk_timeout` passes first, the read
stays pending and the caller gets an idle chunk, so it can redraw or give up without losing a byte.
"""

from __future__ import annotations

import asyncio
import socket
import time
import weakref
from collections import deque
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Self

import httpx2

from codex.client import _policy, _wire
from codex.client._policy import Policy
from codex.client._values import Chunk
from codex.errors import ClientError
from codex.types import Usage

_IDLE = Chunk("", idle=True)


class _Gathered:
    """What has arrived so far. `text` is complete once `finish_reason` is set.

    `deadline`: by `time.monotonic()`, for the whole answer.
    """

    def __init__(self, response: httpx2.Response, policy: Policy, deadline: float) -> None:
        self.response = response
        self.release = response.headers.get(_wire.RELEASE_HEADER, "")
        self.request_id = response.headers.get(_wire.REQUEST_ID_HEADER, "")
        self.usage: Usage | None = None
        self.finish_reason: str | None = None
        self._policy = policy
        self._deadline = deadline
        self._parts: list[str] = []
        self._waiting: deque[Chunk] = deque()

    @property
    def text(self) -> str:
        return "".join(self._parts)

    @property
    def truncated_tokens(self) -> int:
        """Prompt tokens left out by the server to make the prompt fit; known from the start."""
        return _wire.truncated_in(self.response.headers)

    def _take(self, event: httpx2.ServerSentEvent) -> None:
        if event.data.strip() == "[DONE]":
            return
        chunks, usage = _wire.read_event(event.data, self.truncated_tokens)
        self.usage = usage or self.usage
        for chunk in chunks:
            self._parts.append(chunk.text)
            self.finish_reason = chunk.finish_reason or self.finish_reason
        self._waiting.extend(chunks)

    def _patience(self) -> float:
        """Seconds that the next read may wait. Before the first piece (prefill) only `timeout` counts."""
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise _policy.too_slow(self._policy.timeout_s)
        return min(left, self._policy.chunk_timeout_s) if self._parts else left

    def _check_complete(self) -> None:
        if self.finish_reason is None:
            raise _policy.interrupted("no finish reason was sent")


class CompletionStream(_Gathered):
    """Iterate to get chunks; leave the `with` block, close it or drop it to cancel the answer in the server.

    `close` may be called from another thread, also while this one waits for a chunk. At the end `text`,
    `usage`, `finish_reason` hold the whole answer; `release` and `request_id` are there from the start.

    Raises (while iterating):
        ResponseTimeout: the whole answer took longer than the client's `timeout`.
        ClientError: the server broke off; `text` holds what had arrived.
    """

    def __init__(self, response: httpx2.Response, policy: Policy, deadline: float) -> None:
        super().__init__(response, policy, deadline)
        self._events = iter(httpx2.EventSource(response))
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="codex-stream")
        self._pending: Future[httpx2.ServerSentEvent | None] | None = None
        self._release_connection = weakref.finalize(self, _hang_up, response, self._reader)
        self._release_connection.atexit = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __iter__(self) -> Iterator[Chunk]:
        return self

    def __next__(self) -> Chunk:
        while not self._waiting:
            try:
                if not self._read():
                    return _IDLE
            except BaseException:
                self.close()
                raise
        return self._waiting.popleft()

    def close(self) -> None:
        """Ends the connection; the server stops generating. Safe to call twice and from any thread."""
        self._release_connection()

    def _read(self) -> bool:
        """Waits for one event. False when `chunk_timeout` passed first; the read goes on."""
        self._stop_if_closed()
        if self._pending is None:
            self._pending = self._submit()
        try:
            with _policy.failures_in_the_answer(self._policy):
                event = self._pending.result(self._patience())
        except TimeoutError:
            self._patience()
            return False
        except ClientError:
            self._stop_if_closed()
            raise
        self._pending = None
        if event is None:
            self._stop_if_closed()
            self._check_complete()
            raise StopIteration
        self._take(event)
        return True

    def _submit(self) -> Future[httpx2.ServerSentEvent | None]:
        try:
            return self._reader.submit(next, self._events, None)
        except RuntimeError:  # another thread closed the stream since we looked
            self._stop_if_closed()
            raise

    def _stop_if_closed(self) -> None:
        """What was closed, also by another thread in the middle of a read, has ended and not failed."""
        if not self._release_connection.alive:
            raise StopIteration


def _hang_up(response: httpx2.Response, reader: ThreadPoolExecutor) -> None:
    """The reading thread may be blocked in `recv`: shutting the socket down wakes it, then it closes up.

    An answer that was read to its end has given its connection back already, so there is nothing to wake.
    """
    stream = response.extensions.get("network_stream")
    connection = stream.get_extra_info("socket") if stream and not response.is_closed else None
    if connection is not None:
        _shut_down(connection)
    reader.submit(_close_quietly, response)
    reader.shutdown(wait=False)


def _shut_down(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # the other side was faster


def _close_quietly(response: httpx2.Response) -> None:
    try:
        response.close()
    except httpx2.TransportError:
        return  # closing a connection that is broken already is what was wanted


class AsyncCompletionStream(_Gathered):
    """`CompletionStream` for asyncio. Use `async with`, or call `aclose`, to cancel the answer in the server;
    cancelling the task that waits for a chunk closes it too."""

    def __init__(self, response: httpx2.Response, policy: Policy, deadline: float) -> None:
        super().__init__(response, policy, deadline)
        self._events = aiter(httpx2.EventSource(response))
        self._pending: asyncio.Task[httpx2.ServerSentEvent | None] | None = None
        self._closed = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def __aiter__(self) -> AsyncIterator[Chunk]:
        return self

    async def __anext__(self) -> Chunk:
        while not self._waiting:
            try:
                if not await self._read():
                    return _IDLE
            except BaseException:
                await self.aclose()
                raise
        return self._waiting.popleft()

    async def aclose(self) -> None:
        """Ends the connection; the server stops generating. Safe to call twice."""
        self._closed = True
        pending, self._pending = self._pending, None
        if pending is not None:
            pending.cancel()
            await asyncio.wait({pending})
        await self.response.aclose()

    async def _read(self) -> bool:
        if self._closed:
            raise StopAsyncIteration
        if self._pending is None:
            self._pending = asyncio.ensure_future(_next_event(self._events))
        done, _ = await asyncio.wait({self._pending}, timeout=self._patience())
        if not done:
            self._patience()
            return False
        with _policy.failures_in_the_answer(self._policy):
            event = self._pending.result()
        self._pending = None
        if event is None:
            self._check_complete()
            raise StopAsyncIteration
        self._take(event)
        return True


async def _next_event(events: AsyncIterator[httpx2.ServerSentEvent]) -> httpx2.ServerSentEvent | None:
    return await anext(events, None)
