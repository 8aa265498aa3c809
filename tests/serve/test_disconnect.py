"""A client that leaves frees its place and the engine: in queue, prefill and decode, streamed or not."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import anyio
import pytest
from anyio.abc import SocketStream

from codex.engine.mock import MockEngine
from codex.settings import Settings

OnPort = Callable[..., AbstractAsyncContextManager[Any]]
Eventually = Callable[[Callable[[], bool]], Awaitable[None]]
CASES = [
    ("/v1/completions", {"prompt": "x", "max_tokens": 5000}),
    ("/v1/completions", {"prompt": ["x", "y"], "n": 2, "max_tokens": 5000}),
    ("/v1/chat/completions", {"messages": [{"role": "user", "content": "x"}], "max_tokens": 5000}),
]
pytestmark = [
    pytest.mark.anyio,
    pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"]),
    pytest.mark.parametrize(("path", "body"), CASES, ids=["completion", "batch", "chat"]),
]


@asynccontextmanager
async def asking(
    port: int, path: str, body: dict[str, Any], stream: bool
) -> AsyncGenerator[SocketStream, None]:
    """A connection that has sent a request; leaving the block closes it as a killed client would."""
    content = json.dumps({**body, "stream": stream}).encode()
    lines = [f"POST {path} HTTP/1.1", "host: x", "content-type: application/json"]
    head = "\r\n".join([*lines, f"content-length: {len(content)}", "", ""])
    async with await anyio.connect_tcp("127.0.0.1", port) as socket:
        await socket.send(head.encode() + content)
        yield socket


def answers_in(body: dict[str, Any]) -> int:
    prompt = body.get("prompt")
    return int(body.get("n", 1)) * (len(prompt) if isinstance(prompt, list) else 1)


async def test_cancel_in_prefill(
    live: OnPort, eventually: Eventually, path: str, body: dict[str, Any], stream: bool
) -> None:
    engine = MockEngine(prefill_s=60)
    async with live(engine) as running:
        async with asking(running.port, path, body, stream):
            await eventually(lambda: engine.status().running == answers_in(body))
        await eventually(lambda: engine.status().running == 0)
        assert len(engine.cancelled) == answers_in(body)
        metrics = (await running.client.get("/metrics")).text
    requests = len(body["prompt"]) if isinstance(body.get("prompt"), list) else 1
    assert f"codex_requests_cancelled_total {requests}.0" in metrics
    assert "codex_requests_running 0.0" in metrics


async def test_cancel_in_decode_counts_what_was_computed(
    live: OnPort, eventually: Eventually, path: str, body: dict[str, Any], stream: bool
) -> None:
    engine = MockEngine("x" * 5000, step_s=0.002)
    async with live(engine) as running:
        async with asking(running.port, path, body, stream) as socket:
            if stream:
                received = b""
                while received.count(b"data: ") < answers_in(body) + 1:
                    received += await socket.receive()
            else:
                await eventually(lambda: engine.status().running == answers_in(body))
                await anyio.sleep(0.05)
        await eventually(lambda: engine.status().running == 0)
        assert len(engine.cancelled) == answers_in(body)
        metrics = (await running.client.get("/metrics")).text
    counted = next(line for line in metrics.splitlines() if line.startswith("codex_completion_tokens_total"))
    assert 0 < float(counted.split()[-1]) < 5000


async def test_cancel_in_queue_never_reaches_the_engine(
    live: OnPort, eventually: Eventually, path: str, body: dict[str, Any], stream: bool
) -> None:
    engine = MockEngine(prefill_s=60)
    async with live(engine, Settings(max_concurrent=1)) as running:
        async with asking(running.port, "/v1/completions", {"prompt": "first"}, stream=False):
            await eventually(lambda: len(engine.seen) == 1)
            admission = running.pipeline.admission
            requests = len(body["prompt"]) if isinstance(body.get("prompt"), list) else 1
            async with asking(running.port, path, body, stream):
                await eventually(lambda: admission.waiting == requests)
            await eventually(lambda: admission.waiting == 0)
            assert len(engine.seen) == 1
        await eventually(lambda: admission.running == 0)
