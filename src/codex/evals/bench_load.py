"""A load generator that costs next to nothing: raw sockets, stamps first, parsing after the answer has ended.

It shares the cores with what it measures, so an HTTP library would show up in the figures. Knows no prompt.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Coroutine, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Self, TypeVar
from urllib.parse import urlsplit

import msgspec

from codex.errors import EvaluationError

_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class Timing:
    """`at_s`: seconds from sending to each piece of text. Token counts are the server's."""

    at_s: tuple[float, ...]
    tokens: int
    prompt_tokens: int
    text: str

    @property
    def ttft_s(self) -> float:
        return self.at_s[0]

    @property
    def gaps_s(self) -> list[float]:
        return [later - earlier for earlier, later in zip(self.at_s, self.at_s[1:], strict=False)]


class _Choice(msgspec.Struct):
    text: str = ""


class _Usage(msgspec.Struct):
    prompt_tokens: int = 0
    completion_tokens: int = 0


class _Event(msgspec.Struct):
    choices: list[_Choice] = []
    usage: _Usage | None = None
    content: str = ""
    error: object = None


class Connection:
    """One kept-alive HTTP/1.1 connection; one request at a time. Open it before the clock starts."""

    def __init__(self, host: str, port: int) -> None:
        self._host = host
        self._port = port

    async def __aenter__(self) -> Self:
        self._reader, self._writer = await asyncio.open_connection(self._host, self._port, limit=1 << 24)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._writer.close()
        try:
            await self._writer.wait_closed()
        except ConnectionError:
            return  # the server was faster

    async def stream(self, path: str, body: Mapping[str, object]) -> Timing:
        """Posts `body` and reads the events of its answer to the end.

        Raises:
            EvaluationError: the server refused, broke off, or sent no text.
        """
        content = json.dumps(body).encode()
        head = (
            f"POST {path} HTTP/1.1\r\nHost: {self._host}:{self._port}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(content)}\r\n\r\n"
        )
        started = time.perf_counter()
        self._writer.write(head.encode() + content)
        try:
            status = await self._reader.readuntil(b"\r\n\r\n")
            pieces = [(at, piece) async for at, piece in self._pieces(status)]
        except (asyncio.IncompleteReadError, ConnectionError) as error:
            raise EvaluationError(f"the server ended the connection in the middle: {error}") from error
        if status.split(b" ", 2)[1] != b"200":
            raise EvaluationError(f"the server refused: {b''.join(piece for _, piece in pieces)[:300]!r}")
        return _timing(pieces, started)

    async def _pieces(self, head: bytes) -> AsyncGenerator[tuple[float, bytes], None]:
        length = _content_length(head)
        if length is not None:
            body = await self._reader.readexactly(length)
            yield time.perf_counter(), body
            return
        while size := int(await self._reader.readline(), 16):
            piece = await self._reader.readexactly(size + 2)
            yield time.perf_counter(), piece[:-2]
        await self._reader.readline()


def _content_length(head: bytes) -> int | None:
    for line in head.lower().split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name == b"content-length":
            return int(value)
    return None


def _timing(pieces: Sequence[tuple[float, bytes]], started: float) -> Timing:
    """Events are cut at blank lines; each counts from the moment when its last byte was here."""
    at: list[float] = []
    texts: list[str] = []
    usage = _Usage()
    rest = b""
    for stamp, piece in pieces:
        *events, rest = (rest + piece).replace(b"\r\n", b"\n").split(b"\n\n")
        for data in events:
            event = _event(data)
            text = event.choices[0].text if event.choices else event.content
            if text:
                at.append(stamp - started)
                texts.append(text)
            usage = event.usage or usage
    if not at:
        raise EvaluationError("the answer holds no text: choose another prompt")
    return Timing(tuple(at), usage.completion_tokens or len(at), usage.prompt_tokens, "".join(texts))


def _event(data: bytes) -> _Event:
    content = data.removeprefix(b"data:").strip()
    if not content or content == b"[DONE]" or not data.startswith(b"data:"):
        return _Event()
    event = msgspec.json.decode(content, type=_Event)
    if event.error is not None:
        raise EvaluationError(f"the server broke off: {event.error}")
    return event


@asynccontextmanager
async def connections(url: str, count: int) -> AsyncGenerator[list[Connection], None]:
    """`count` open connections to the server at `url` (http only)."""
    address = urlsplit(url)
    if address.scheme != "http" or address.hostname is None:
        raise EvaluationError(f"{url} is not an http:// address")
    opened: list[Connection] = []
    try:
        for _ in range(count):
            connection = Connection(address.hostname, address.port or 80)
            await connection.__aenter__()
            opened.append(connection)
        yield opened
    except OSError as error:
        raise EvaluationError(f"nothing answers at {url}: {error}") from error
    finally:
        for connection in opened:
            await connection.__aexit__(None, None, None)


async def all_at_once(
    opened: Sequence[Connection], path: str, bodies: Sequence[Mapping[str, object]]
) -> list[Timing]:
    """One body a connection, sent together."""
    return await together(
        connection.stream(path, body) for connection, body in zip(opened, bodies, strict=True)
    )


async def together(work: Iterable[Coroutine[None, None, _Result]]) -> list[_Result]:
    """Results in order. When one fails the others are cancelled and its own error is raised, not a group."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(each) for each in work]
    except BaseExceptionGroup as failed:
        raise failed.exceptions[0] from None
    return [task.result() for task in tasks]
