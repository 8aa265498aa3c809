"""The lean load generator reads the same answer as a full client, whatever way the bytes are cut."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from codex.errors import EvaluationError
from codex.evals.bench_load import Timing, all_at_once, connections

pytestmark = pytest.mark.anyio

EVENTS = (
    b'data: {"choices": [{"text": "a"}]}\n\ndata: {"choices": [{"text": ""}]}\n\n'
    b'data: {"choices": [{"text": "\xc3\xa9"}]}\r\n\r\n'
    b'data: {"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 2}}\n\ndata: [DONE]\n\n'
)


def chunked(*pieces: bytes) -> bytes:
    body = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces)
    return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + body + b"0\r\n\r\n"


@asynccontextmanager
async def answering(reply: bytes) -> AsyncGenerator[str, None]:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await reader.readuntil(b"\r\n\r\n"):
            length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
            json.loads(await reader.readexactly(length))
            writer.write(reply)

    async def quietly(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await answer(reader, writer)
        except asyncio.IncompleteReadError:
            writer.close()

    async with await asyncio.start_server(quietly, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def ask(reply: bytes, times: int = 1) -> list[Timing]:
    async with answering(reply) as url, connections(url, 1) as opened:
        return [await opened[0].stream("/v1/completions", {"prompt": "x"}) for _ in range(times)]


@pytest.mark.parametrize("size", [1, 7, 40, 1000])
async def test_events_are_whole_wherever_the_chunks_are_cut(size: int) -> None:
    pieces = [EVENTS[start : start + size] for start in range(0, len(EVENTS), size)]
    first, second = await ask(chunked(*pieces), times=2)
    assert first.text == second.text == "aé"
    assert (first.tokens, first.prompt_tokens, len(first.at_s)) == (2, 5, 2)
    assert 0 < first.ttft_s <= first.at_s[1]
    assert len(first.gaps_s) == 1


async def test_llama_servers_events_are_read() -> None:
    (timing,) = await ask(chunked(b'data: {"content": "x"}\n\n', b'data: {"content": "y", "stop": true}\n\n'))
    assert (timing.text, timing.tokens) == ("xy", 2)


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (b"HTTP/1.1 429 Busy\r\nContent-Length: 4\r\n\r\nfull", "full"),
        (chunked(b'data: {"error": {"message": "dead"}}\n\n'), "dead"),
        (chunked(b"data: [DONE]\n\n"), "no text"),
    ],
)
async def test_what_is_no_answer_is_an_error(reply: bytes, message: str) -> None:
    with pytest.raises(EvaluationError, match=message):
        await ask(reply)


async def test_nobody_there_is_an_error() -> None:
    with pytest.raises(EvaluationError, match="nothing answers"):
        async with connections("http://127.0.0.1:1", 1):
            pass
    with pytest.raises(EvaluationError, match="http://"):
        async with connections("https://127.0.0.1", 1):
            pass


async def test_a_refusal_among_many_streams_is_told_as_it_is() -> None:
    refusal = b"HTTP/1.1 429 Busy\r\nContent-Length: 4\r\n\r\nfull"
    async with answering(refusal) as url, connections(url, 3) as opened:
        with pytest.raises(EvaluationError, match="full"):
            await all_at_once(opened, "/x", [{}, {}, {}])


async def test_many_streams_run_together() -> None:
    async with answering(chunked(EVENTS)) as url, connections(url, 5) as opened:
        timings = await all_at_once(opened, "/x", [{"prompt": str(each)} for each in range(5)])
    assert [timing.text for timing in timings] == ["aé"] * 5
