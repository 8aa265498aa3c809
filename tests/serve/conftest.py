"""The application on the mock engine: in this process, or on a loopback port in the same event loop."""

from __future__ import annotations

import io
import logging
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import TextIO

import anyio
import httpx2
import pytest
import structlog

from codex.engine.mock import MockEngine
from codex.observe.logging import configure_logging
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


@contextmanager
def _logging_to(stream: TextIO, level: str) -> Iterator[None]:
    handlers, before = logging.root.handlers[:], logging.root.level
    configure_logging(level, stream)
    yield
    structlog.reset_defaults()
    logging.captureWarnings(capture=False)
    logging.root.handlers[:] = handlers
    logging.root.setLevel(before)


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """Everything that the server logs, down to debug."""
    stream = io.StringIO()
    with _logging_to(stream, "debug"):
        yield stream


@pytest.fixture
def quiet() -> Iterator[None]:
    """No log lines: pytest would keep them."""
    with _logging_to(io.StringIO(), "error"):
        yield
