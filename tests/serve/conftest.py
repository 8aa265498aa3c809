"""The application on the mock engine: in this process, or on a loopback port in the same event loop."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass

import anyio
import httpx2
import pytest

from codex.engine.mock import MockEngine
from codex.pipeline import Pipeline
from codex.serve.rest import create_app
from codex.serve.server import CodexServer, listening_socket
from codex.settings import Settings

InProcess = Callable[..., AbstractAsyncContextManager[httpx2.AsyncClient]]
OnPort = Callable[..., AbstractAsyncContextManager["Running"]]


@dataclass(frozen=True)
class Running:
    server: CodexServer
    pipeline: Pipeline
    url: str
    port: int
    client: httpx2.AsyncClient


@asynccontextmanager
async def in_process(
    engine: MockEngine | None = None, settings: Settings | None = None
) -> AsyncGenerator[httpx2.AsyncClient, None]:
    engine = engine or MockEngine()
    settings = settings or Settings()
    await engine.start()
    transport = httpx2.ASGITransport(create_app(Pipeline(engine, settings), settings))
    async with httpx2.AsyncClient(transport=transport, base_url="http://codex.test") as client:
        yield client
    await engine.stop()


@asynccontextmanager
async def on_port(
    engine: MockEngine | None = None, settings: Settings | None = None
) -> AsyncGenerator[Running, None]:
    engine = engine or MockEngine()
    ready = anyio.Event()
    with listening_socket("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        server = CodexServer(engine, settings or Settings(), port, lambda _banner: ready.set())
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.serve, [listener])
            with anyio.fail_after(10):
                await ready.wait()
            async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
                yield Running(server, server.pipeline, f"http://127.0.0.1:{port}", port, client)
            server.should_exit = True


@pytest.fixture
def app_client() -> InProcess:
    """`async with app_client(engine, settings) as client`: no socket."""
    return in_process


@pytest.fixture
def live() -> OnPort:
    """`async with live(engine, settings) as running`: a real uvicorn on a loopback port."""
    return on_port


async def _eventually(condition: Callable[[], bool]) -> None:
    with anyio.fail_after(5):
        while not condition():  # noqa: ASYNC110 - what is awaited has no event
            await anyio.sleep(0.002)


@pytest.fixture
def eventually() -> Callable[..., object]:
    """Waits until a condition holds, and fails when it does not within seconds."""
    return _eventually
