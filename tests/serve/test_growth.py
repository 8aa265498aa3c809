"""Memory stays flat over many requests of every kind, also those that fail and those whose client leaves."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, aclosing
from typing import Any

import httpx2
import pytest

from codex.engine.mock import MockEngine
from codex.settings import Settings

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("quiet")]

InProcess = Callable[..., AbstractAsyncContextManager[httpx2.AsyncClient]]
ROUNDS = 60
BYTES_PER_REQUEST = 200
"""A forgotten record, task or event is some kilobytes; what interned strings and counters keep is less."""


async def one_round(client: httpx2.AsyncClient, number: int) -> int:
    """Six requests that differ from those of every other round."""
    text = f"x{number}"
    chat = {"messages": [{"role": "user", "content": text}]}
    bodies: list[tuple[str, dict[str, Any]]] = [
        ("/v1/completions", {"prompt": text, "language": text, "user": text}),
        ("/v1/completions", {"prompt": text, "suffix": "y", "stream": True}),
        ("/v1/completions", {"prompt": [text, "y"], "n": 2}),
        ("/v1/chat/completions", chat),
        ("/v1/completions", {"prompt": 5}),
        ("/v1/completions", {"prompt": text, "timeout": 1e-9}),
    ]
    for path, body in bodies:
        await client.post(path, json=body)
    return len(bodies)


async def test_memory_does_not_grow_with_the_number_of_requests(app_client: InProcess) -> None:
    requests = 0
    async with app_client(Forgetful("answer"), Settings()) as client:
        for number in range(10):
            await one_round(client, number)
        gc.collect()
        tracemalloc.start()
        try:
            await one_round(client, 10)
            gc.collect()
            before = tracemalloc.get_traced_memory()[0]
            for number in range(11, 11 + ROUNDS):
                requests += await one_round(client, number)
            gc.collect()
            grown = tracemalloc.get_traced_memory()[0] - before
        finally:
            tracemalloc.stop()
    assert requests == 6 * ROUNDS
    assert grown < BYTES_PER_REQUEST * requests


class Forgetful(MockEngine):
    """The mock keeps every request for tests to look at; here that would be the leak."""

    async def generate(self, request: Any) -> Any:
        async with aclosing(super().generate(request)) as chunks:
            async for chunk in chunks:
                self.seen.clear()
                self.cancelled.clear()
                yield chunk
