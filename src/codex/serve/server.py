"""Runs the server from settings to exit: address, model, engine, HTTP, shutdown. Knows no request."""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager

import anyio
import click
import uvicorn

from codex.engine import create_engine
from codex.engine.protocol import Engine
from codex.errors import CannotListen
from codex.observe.logging import configure_logging
from codex.pipeline import Pipeline
from codex.serve.banner import banner, base_url
from codex.serve.keeper import EngineKeeper
from codex.serve.progress import TerminalProgress
from codex.serve.rest import create_app
from codex.settings import Settings

GRACE_S = 20
"""Time that requests in flight get after SIGTERM; then the engine stops and they end with an error."""

LAST_S = 5
"""Time for those errors to reach their clients, before connections are cut."""

KEEP_ALIVE_S = 75
"""An editor pauses for longer than uvicorn's 5 s, and a new connection costs it latency."""


def run(settings: Settings) -> None:
    """Serves until SIGTERM or SIGINT, then returns.

    Raises:
        CannotListen: the address is taken or not of this machine.
        ModelError: the model cannot be prepared.
        EngineUnavailable: the engine did not come up.
    """
    configure_logging(settings.log_level)
    with listening_socket(settings.host, settings.port) as listener:
        with TerminalProgress() as progress:
            engine = create_engine(settings, progress=progress)
        serve(engine, settings, listener, announce=click.echo)


def serve(
    engine: Engine, settings: Settings, listener: socket.socket, *, announce: Callable[[str], object]
) -> None:
    """Serves `engine` on `listener`; `announce` gets the banner once the first request can be answered."""
    server = CodexServer(engine, settings, listener.getsockname()[1], announce)
    with _exit_code_zero_on_signals():
        server.run(sockets=[listener])
    if server.keeper.failure:
        raise server.keeper.failure


class CodexServer(uvicorn.Server):
    """uvicorn, with an engine beside it. `listening` is set once connections are accepted."""

    def __init__(
        self, engine: Engine, settings: Settings, port: int, announce: Callable[[str], object]
    ) -> None:
        self._announce = announce
        self._banner = banner(base_url(settings.host, port), engine.info.name)
        self._is_listening: anyio.Event | None = None
        self.keeper = EngineKeeper(engine, on_ready=self._ready, on_failure=self._failed)
        self.pipeline = Pipeline(engine, settings)
        app = create_app(self.pipeline, settings, lifespan=self.keeper.lifespan)
        super().__init__(
            uvicorn.Config(
                app,
                log_config=None,
                access_log=False,
                server_header=False,
                timeout_keep_alive=KEEP_ALIVE_S,
                timeout_graceful_shutdown=GRACE_S + LAST_S,
            )
        )

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self._is_listening = anyio.Event()
        await super().startup(sockets)
        self._is_listening.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._stop_engine_after_grace)
            await super().shutdown(sockets)
            tasks.cancel_scope.cancel()

    async def _stop_engine_after_grace(self) -> None:
        await anyio.sleep(GRACE_S)
        self.keeper.stop()

    async def _ready(self) -> None:
        if self._is_listening is not None:
            await self._is_listening.wait()
        self._announce(self._banner)

    def _failed(self) -> None:
        self.should_exit = True


@contextmanager
def listening_socket(host: str, port: int) -> Generator[socket.socket, None, None]:
    """A bound socket; taken before the model is prepared, so that a wrong address is told at once.

    Raises:
        CannotListen: the address is taken or not of this machine.
    """
    with ExitStack() as stack:
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
            family, kind, protocol, _, address = found[0]
            listener = stack.enter_context(socket.socket(family, kind, protocol))
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
        except OSError as error:
            advice = "choose another --host or --port"
            raise CannotListen(f"cannot listen on {host}:{port} ({error}): {advice}") from error
        yield listener


@contextmanager
def _exit_code_zero_on_signals() -> Generator[None, None, None]:
    """uvicorn raises the signal that stopped it once more in the end; an orderly end is no failure."""
    signals = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(each, lambda _number, _frame: None) for each in signals]
    try:
        yield
    finally:
        for each, handler in zip(signals, before, strict=True):
            signal.signal(each, handler)
