"""From start to exit: readiness, failing engines, addresses, shutdown, the banner's own lines."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from typing import Any

import anyio
import httpx2
import pytest

from codex.engine.mock import MockEngine
from codex.errors import CannotListen, EngineUnavailable
from codex.serve import server as server_module
from codex.serve.banner import banner, base_url
from codex.serve.server import CodexServer, listening_socket
from codex.settings import Settings
from codex.types import EngineChunk, EngineRequest

OnPort = Callable[..., AbstractAsyncContextManager[Any]]
Eventually = Callable[[Callable[[], bool]], Awaitable[None]]


class Slow(MockEngine):
    """Comes up when it is told to."""

    def __init__(self) -> None:
        super().__init__("x")
        self.go = anyio.Event()
        self.stopped = False

    async def start(self) -> None:
        await self.go.wait()
        await super().start()

    async def stop(self) -> None:
        self.stopped = True
        await super().stop()


class Broken(MockEngine):
    async def start(self) -> None:
        raise EngineUnavailable("no memory for the engine")


def server_for(engine: MockEngine, listener: socket.socket, said: list[str]) -> CodexServer:
    return CodexServer(engine, Settings(), listener.getsockname()[1], said.append)


@pytest.mark.anyio
async def test_the_server_listens_before_the_engine_is_ready(eventually: Eventually) -> None:
    engine, said = Slow(), list[str]()
    with listening_socket("127.0.0.1", 0) as listener:
        server = server_for(engine, listener, said)
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        async with anyio.create_task_group() as tasks, httpx2.AsyncClient(base_url=url) as client:
            tasks.start_soon(server.serve, [listener])
            await eventually(lambda: server.started)
            assert (await client.get("/healthz")).status_code == 200
            assert (await client.get("/readyz")).status_code == 503
            assert (await client.post("/v1/completions", json={"prompt": "x"})).status_code == 503
            assert said == []
            engine.go.set()
            await eventually(lambda: bool(said))
            assert (await client.get("/readyz")).status_code == 200
            server.should_exit = True
    assert engine.stopped


@pytest.mark.anyio
async def test_a_stop_while_the_engine_comes_up_ends_both(eventually: Eventually) -> None:
    engine = Slow()
    with listening_socket("127.0.0.1", 0) as listener:
        server = server_for(engine, listener, [])
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.serve, [listener])
            await eventually(lambda: server.started)
            server.should_exit = True
    assert engine.stopped
    assert server.keeper.failure is None


def test_an_engine_that_does_not_come_up_ends_the_server_with_its_reason() -> None:
    with (
        listening_socket("127.0.0.1", 0) as listener,
        pytest.raises(EngineUnavailable, match="no memory for the engine"),
    ):
        server_module.serve(Broken(), Settings(), listener, announce=lambda _: None)


@pytest.mark.anyio
async def test_a_request_in_flight_is_finished_at_shutdown(live: OnPort) -> None:
    engine = MockEngine("x" * 50, step_s=0.01)
    async with (
        live(engine) as running,
        running.client.stream("POST", "/v1/completions", json={"prompt": "x", "stream": True}) as reply,
    ):
        running.server.should_exit = True
        lines = [line async for line in reply.aiter_lines() if line]
    assert lines[-1] == "data: [DONE]"
    assert engine.cancelled == []


@pytest.mark.anyio
async def test_a_request_that_outlives_the_grace_ends_with_an_error_event(
    live: OnPort, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Endless(MockEngine):
        """Answers until it is stopped, as the engine's contract has it."""

        def __init__(self) -> None:
            super().__init__()
            self.stopping = anyio.Event()

        async def stop(self) -> None:
            self.stopping.set()
            await super().stop()

        async def generate(self, request: EngineRequest) -> AsyncGenerator[EngineChunk, None]:
            yield EngineChunk((97,))
            await self.stopping.wait()
            raise EngineUnavailable("the engine was stopped")

    monkeypatch.setattr(server_module, "GRACE_S", 0.2)
    async with (
        live(Endless()) as running,
        running.client.stream("POST", "/v1/completions", json={"prompt": "x", "stream": True}) as reply,
    ):
        running.server.should_exit = True
        lines = [line async for line in reply.aiter_lines() if line]
    assert json.loads(lines[-1].removeprefix("data: "))["error"]["code"] == "engine_unavailable"


def test_a_taken_address_is_told_with_what_to_do() -> None:
    with listening_socket("127.0.0.1", 0) as taken:
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(CannotListen, match=f"{port}.*--port"), listening_socket("127.0.0.1", port):
            pass
    with pytest.raises(CannotListen), listening_socket("no-such-host.invalid", 0):
        pass


def test_the_banner_shows_an_address_that_works_here() -> None:
    assert base_url("0.0.0.0", 80) == "http://127.0.0.1:80"
    assert base_url("::", 80) == "http://[::1]:80"
    assert base_url("example.test", 80) == "http://example.test:80"


@contextmanager
def started_command(*options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`codex-cli serve` on the mock, and what it printed once it was ready."""
    command = [sys.executable, "-c", "from codex.cli import main; main()", "serve", "--backend", "mock"]
    process = subprocess.Popen(
        [*command, "--port", "0", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        printed = ""
        while ".text)" not in printed:
            line = process.stdout.readline()
            assert line, process.stderr.read()
            printed += line
        yield process, printed
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_command_prints_lines_that_work_and_ends_with_zero(number: signal.Signals) -> None:
    with started_command() as (process, printed):
        curl = next(line for line in printed.splitlines() if line.startswith("curl "))
        python = printed[printed.index("from codex") :]
        answer = subprocess.run(["bash", "-c", curl], capture_output=True, text=True, check=True)
        snippet = subprocess.run([sys.executable, "-c", python], capture_output=True, text=True, check=True)
        process.send_signal(number)
        _, log = process.communicate(timeout=60)
    assert json.loads(answer.stdout)["choices"][0]["text"].strip() == snippet.stdout.strip() != ""
    assert process.returncode == 0
    events = [json.loads(line)["event"] for line in log.splitlines()]
    assert events.count("request") == 2


def test_the_banner_s_body_survives_a_shell() -> None:
    curl = re.search(r"-d '(.*)'", banner("http://x", "m"))
    assert curl is not None
    body = curl[1]
    assert "'" not in body
    assert json.loads(body)["suffix"].startswith("\n")
