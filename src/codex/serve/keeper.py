"""Starts the engine beside the listening server and stops it in the end. Knows no transport."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

import anyio
from fastapi import FastAPI

from codex.engine.protocol import Engine
from codex.errors import CodexError

STOPPING_S = 15.0
"""Longest time an engine may take to stop when its task is being cancelled."""


class EngineKeeper:
    """The server listens while the engine still comes up: `/healthz` and `/readyz` tell the two apart.

    One task starts and stops the engine, as structured concurrency inside an engine demands.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        on_ready: Callable[[], Awaitable[None]],
        on_failure: Callable[[], None],
    ) -> None:
        self._engine = engine
        self._on_ready = on_ready
        self._on_failure = on_failure
        self._enough: anyio.Event | None = None
        self.failure: CodexError | None = None

    @asynccontextmanager
    async def lifespan(self, _app: FastAPI) -> AsyncGenerator[None, None]:
        self._enough = anyio.Event()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._keep, self._enough)
            yield
            self.stop()

    def stop(self) -> None:
        """Ends the engine, and with it the requests in flight. The server goes on until it is told to end."""
        if self._enough is not None:
            self._enough.set()

    async def _keep(self, enough: anyio.Event) -> None:
        try:
            if await self._started_before(enough):
                await self._on_ready()
                await enough.wait()
        finally:
            with anyio.move_on_after(STOPPING_S, shield=True):
                await self._engine.stop()

    async def _started_before(self, enough: anyio.Event) -> bool:
        """False when the engine failed or the server was stopped while it came up."""
        started = False
        async with anyio.create_task_group() as tasks:

            async def give_up() -> None:
                await enough.wait()
                tasks.cancel_scope.cancel()

            tasks.start_soon(give_up)
            started = await self._start()
            tasks.cancel_scope.cancel()
        return started

    async def _start(self) -> bool:
        try:
            await self._engine.start()
        except CodexError as error:
            self.failure = error
            self._on_failure()
            return False
        return True
