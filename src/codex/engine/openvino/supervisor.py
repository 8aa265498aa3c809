"""Keeps one worker alive: starts it, hands its news out, notices its death, restarts it. Knows no sampling.

It runs as one task that `start` creates and `stop` ends and awaits; inside, everything is in task groups.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

import anyio
import psutil

from codex.engine.openvino import wire
from codex.engine.openvino.answers import Answer, WorkerLost
from codex.engine.openvino.process import WORKER, WorkerProcess, spawn
from codex.errors import EngineUnavailable, Overloaded, RequestError
from codex.types import EngineState, EngineStatus

MAX_IN_FLIGHT = 4096
"""Admission is the server's; this only keeps a mistake there from filling memory."""


@dataclass(frozen=True, slots=True)
class Patience:
    """When to give up. A worker that lived `healthy_s` seconds is forgiven all earlier deaths."""

    start_s: float = 300.0
    silence_s: float = 120.0
    ready_wait_s: float = 30.0
    healthy_s: float = 60.0
    max_failures: int = 5
    backoff_s: float = 0.5

    def pause_s(self, failures: int) -> float:
        """Seconds before the next start: none after the first death, then doubling."""
        return 0.0 if failures <= 1 else self.backoff_s * 2.0 ** (failures - 2)


@dataclass(slots=True)
class Supervisor:
    """`on_step` sees every step of the worker: the place for metrics."""

    config: wire.Config
    on_step: Callable[[wire.Step], None] = lambda _: None
    patience: Patience = field(default_factory=Patience)
    command: tuple[str, ...] = WORKER
    _state: EngineState = EngineState.STOPPED
    _changed: anyio.Event = field(default_factory=anyio.Event)
    _detail: str = ""
    _restarts: int = 0
    _task: asyncio.Task[None] | None = None
    _worker: WorkerProcess | None = None
    _ready: wire.Ready | None = None
    _last_step: wire.Step | None = None
    _heard_at: float = 0.0
    _answers: dict[int, Answer] = field(default_factory=dict)
    _outbox: deque[tuple[int, bytes]] = field(default_factory=deque)
    _to_send: anyio.Event = field(default_factory=anyio.Event)

    async def start(self) -> None:
        """Returns when the worker is ready.

        Raises:
            EngineUnavailable: it could not be brought up; the message ends with its last words.
        """
        if self._task is not None and not self._task.done():
            await self.until_ready()
            return
        self._enter(EngineState.STARTING)
        self._task = asyncio.create_task(self._run(), name="openvino-supervisor")
        try:
            await self._until_settled()
        except BaseException:
            await self.stop()
            raise
        if self._state is not EngineState.READY:
            await self._end_task()
            raise EngineUnavailable(f"the engine did not start: {self._detail}")

    async def stop(self) -> None:
        with anyio.CancelScope(shield=True):
            await self._end_task()
        self._enter(EngineState.STOPPED)

    async def until_ready(self) -> wire.Ready:
        """Waits out a restart.

        Raises:
            EngineUnavailable: not started, given up, or not back in time.
        """
        with anyio.move_on_after(self.patience.ready_wait_s):
            await self._until_settled()
        if self._state is EngineState.READY and self._ready is not None:
            return self._ready
        raise EngineUnavailable(
            f"the engine is {self._state}" + (f": {self._detail}" if self._detail else "")
        )

    def open(self, submit: wire.Submit) -> Answer:
        """Sends a request to the worker. Call `close` with its id in the end, whatever happened.

        Raises:
            Overloaded: absurdly many requests are in flight.
        """
        if len(self._answers) >= MAX_IN_FLIGHT:
            raise Overloaded(f"{MAX_IN_FLIGHT} requests are in the engine already", retry_after_s=5.0)
        answer = self._answers[submit.id] = Answer()
        self._send(submit)
        return answer

    def close(self, id_: int) -> None:
        """Forgets a request; the worker drops it within a step if it has it, and never gets it if not."""
        if self._answers.pop(id_, None) is None or self._worker is None:
            return
        unsent = [(owner, frame) for owner, frame in self._outbox if owner != id_]
        if len(unsent) < len(self._outbox):
            self._outbox = deque(unsent)
        else:
            self._send(wire.Cancel(id_))

    def status(self) -> EngineStatus:
        step, ready, worker = self._last_step, self._ready, self._worker
        return EngineStatus(
            state=self._state,
            running=step.running if step else 0,
            waiting=step.waiting if step else 0,
            restarts=self._restarts,
            pid=worker.pid if worker else None,
            rss_bytes=_rss_bytes(worker.pid) if worker else 0,
            kv_cache_bytes=ready.kv_cache_bytes if ready else 0,
            kv_cache_used_share=step.kv_used_share if step else 0.0,
            detail=self._detail,
        )

    async def _run(self) -> None:
        """Workers, one after the other, until stopped or given up."""
        failures = 0
        try:
            while True:
                born = time.monotonic()
                cause = await self._one_worker()
                was_ready = self._ready is not None
                self._lose_worker(cause)
                failures = 1 if time.monotonic() - born > self.patience.healthy_s else failures + 1
                if failures > self.patience.max_failures or not (was_ready or self._restarts):
                    return self._enter(EngineState.FAILED, cause)
                self._enter(EngineState.RESTARTING, cause)
                await anyio.sleep(self.patience.pause_s(failures))
                self._restarts += 1
        finally:
            self._lose_worker("the engine was stopped")
            if self._state is not EngineState.FAILED:
                self._enter(EngineState.STOPPED, self._detail)

    async def _one_worker(self) -> str:
        """The whole life of a worker; returns what ended it."""
        cause = ""
        try:
            async with spawn(self.config, self.command) as worker, anyio.create_task_group() as group:
                self._worker = worker
                self._heard_at = time.monotonic()
                group.start_soon(worker.listen_to_stderr)
                group.start_soon(self._write, worker)
                group.start_soon(self._watch, worker)
                await self._listen(worker)
                cause = await self._post_mortem(worker)
                group.cancel_scope.cancel()
        except (OSError, anyio.BrokenResourceError) as error:
            return f"no worker process could be started: {error!r}"
        return cause

    async def _post_mortem(self, worker: WorkerProcess) -> str:
        if self._ready is not None:
            self._enter(EngineState.RESTARTING, "the worker process ended")
        worker.kill()  # its socket is closed: nothing that it still does can be heard
        status = await worker.wait()
        with anyio.move_on_after(1.0):
            await worker.stderr_ended.wait()
        return f"the worker process ended with status {status}: {worker.last_words or 'it wrote nothing'}"

    async def _listen(self, worker: WorkerProcess) -> None:
        while True:
            try:
                messages = await worker.receive()
            except (anyio.EndOfStream, anyio.BrokenResourceError):
                return
            self._heard_at = time.monotonic()
            for message in messages:
                self._take(message)

    def _take(self, message: wire.FromWorker) -> None:
        match message:
            case wire.Ready():
                self._ready = message
                self._enter(EngineState.READY)
            case wire.Step():
                self._last_step = message
                for piece in message.pieces:
                    self._deliver(piece)
                self.on_step(message)
            case wire.Refused(id=id_):
                if answer := self._answers.pop(id_, None):
                    answer.fail(RequestError(f"the engine refuses this request: {message.message}"))

    def _deliver(self, piece: wire.Piece) -> None:
        answer = self._answers.get(piece.id)
        if answer is None:
            return  # closed a moment ago; the worker will read so
        if piece.finish:
            del self._answers[piece.id]
        answer.push(piece)

    async def _write(self, worker: WorkerProcess) -> None:
        while True:
            await self._to_send.wait()
            self._to_send = anyio.Event()
            while self._outbox:
                _, frame = self._outbox.popleft()
                try:
                    await worker.send(frame)
                except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                    return  # `_listen` sees the same end, and deals with it

    async def _watch(self, worker: WorkerProcess) -> None:
        """Kills a worker that takes too long to start, or says nothing although it has work."""
        while True:
            await anyio.sleep(1.0)
            if self._ready is None:
                limit_s = self.patience.start_s
            elif self._answers:
                limit_s = self.patience.silence_s
            else:
                self._heard_at = time.monotonic()
                continue
            if time.monotonic() - self._heard_at > limit_s:
                worker.hung(limit_s)

    def _send(self, message: wire.Submit | wire.Cancel) -> None:
        self._outbox.append((message.id, wire.encode(message)))
        self._to_send.set()

    def _lose_worker(self, cause: str) -> None:
        self._worker, self._ready, self._last_step = None, None, None
        self._outbox.clear()
        answers, self._answers = self._answers, {}
        for answer in answers.values():
            answer.fail(WorkerLost(cause))

    def _enter(self, state: EngineState, detail: str = "") -> None:
        self._state, self._detail = state, detail
        self._changed.set()
        self._changed = anyio.Event()

    async def _until_settled(self) -> None:
        while self._state in (EngineState.STARTING, EngineState.RESTARTING):
            await self._changed.wait()

    async def _end_task(self) -> None:
        task, self._task = self._task, None
        if task is None:
            return
        task.cancel()
        await asyncio.wait([task])
        if not task.cancelled():
            task.result()


def _rss_bytes(pid: int) -> int:
    try:
        return int(psutil.Process(pid).memory_info().rss)
    except psutil.NoSuchProcess:
        return 0
