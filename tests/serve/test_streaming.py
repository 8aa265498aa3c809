"""Server-sent events from a real socket: pieces, endings, errors in the middle."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import anyio
import anyio.lowlevel
import httpx2
import pytest

from codex.engine.mock import MockEngine
from codex.errors import EngineCrashed
from codex.types import EngineChunk, EngineRequest

pytestmark = pytest.mark.anyio

OnPort = Callable[..., AbstractAsyncContextManager[Any]]
DONE = "[DONE]"


async def events(client: httpx2.AsyncClient, path: str, **body: Any) -> list[Any]:
    """Every event of a streamed answer, parsed; the last is `DONE` where the server sent it."""
    async with client.stream("POST", path, json={**body, "stream": True}) as reply:
        assert reply.status_code == 200
        assert reply.headers["content-type"].startswith("text/event-stream")
        lines = [line.removeprefix("data: ") async for line in reply.aiter_lines() if line]
    return [line if line == DONE else json.loads(line) for line in lines]


class Failing(MockEngine):
    """Two tokens, then an error."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self._error = error

    async def generate(self, request: EngineRequest) -> AsyncGenerator[EngineChunk, None]:
        yield EngineChunk((97,))
        await anyio.lowlevel.checkpoint()
        yield EngineChunk((98,))
        raise self._error


async def test_a_completion_streams_token_by_token(live: OnPort) -> None:
    async with live(MockEngine("größe")) as running:
        got = await events(running.client, "/v1/completions", prompt="x")
    assert got[-1] == DONE
    texts = [event["choices"][0]["text"] for event in got[:-1]]
    assert texts == ["g", "r", "ö", "ß", "e", ""]
    assert [event["choices"][0]["finish_reason"] for event in got[:-1]] == [None] * 5 + ["stop"]
    assert all("usage" not in event for event in got[:-1])


async def test_usage_comes_last_when_asked_for(live: OnPort) -> None:
    async with live(MockEngine("ab")) as running:
        got = await events(
            running.client, "/v1/completions", prompt="x", stream_options={"include_usage": True}
        )
    assert [event["usage"] for event in got[:-2]] == [None, None, None]
    assert got[-2]["choices"] == []
    assert got[-2]["usage"] == {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}


async def test_chat_streams_deltas(live: OnPort) -> None:
    async with live(MockEngine("ab")) as running:
        got = await events(
            running.client, "/v1/chat/completions", messages=[{"role": "user", "content": "x"}]
        )
    deltas = [event["choices"][0]["delta"] for event in got[:-1]]
    assert deltas == [{"role": "assistant", "content": "a"}, {"content": "b"}, {}]


async def test_several_answers_interleave_under_their_index(live: OnPort) -> None:
    async with live(MockEngine("abc", step_s=0.002)) as running:
        got = await events(running.client, "/v1/completions", prompt=["x", "y"], n=2, echo=True)
    choices = [event["choices"][0] for event in got[:-1]]
    texts = ["".join(each["text"] for each in choices if each["index"] == index) for index in range(4)]
    assert texts == ["xabc", "xabc", "yabc", "yabc"]
    assert sum(each["finish_reason"] == "stop" for each in choices) == 4


async def test_an_error_before_the_first_token_keeps_its_status(live: OnPort) -> None:
    async with live(MockEngine(context_length=10)) as running:
        reply = await running.client.post("/v1/completions", json={"prompt": "x" * 50, "stream": True})
    assert (reply.status_code, reply.json()["error"]["code"]) == (400, "context_length_exceeded")


@pytest.mark.parametrize(
    ("error", "code"), [(EngineCrashed("gone"), "engine_crashed"), (ValueError("text"), "internal_error")]
)
async def test_an_error_in_the_middle_is_the_last_event(live: OnPort, error: Exception, code: str) -> None:
    async with live(Failing(error)) as running:
        got = await events(running.client, "/v1/completions", prompt="x")
        assert (await running.client.get("/healthz")).status_code == 200
    assert [event["choices"][0]["text"] for event in got[:-1]] == ["a", "b"]
    assert got[-1]["error"]["code"] == code
    assert "text" not in got[-1]["error"]["message"].split()


async def test_connections_are_used_again_after_a_stream(live: OnPort) -> None:
    async with live(MockEngine("ab")) as running:
        for _ in range(3):
            await events(running.client, "/v1/completions", prompt="x")
        assert len(running.server.server_state.connections) == 1
