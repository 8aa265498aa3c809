"""One worker process and the socket to it: born, spoken with, buried. Knows no requests."""

from __future__ import annotations

import logging
import socket
import subprocess
import sys
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
from anyio.abc import Process, SocketStream

from codex.engine.openvino import wire

_log = logging.getLogger(__name__)
_LAST_WORDS = 40
_GRACE_S = 5.0
WORKER = (sys.executable, "-m", "codex.engine.openvino.worker")
"""Command of a worker; the number of its socket's file descriptor is appended."""


class WorkerProcess:
    """A running worker. Use `spawn`; leaving its context ends the process and reaps it."""

    def __init__(self, process: Process, stream: SocketStream) -> None:
        self._process = process
        self._stream = stream
        self._frames = wire.Frames()
        self._words: deque[str] = deque(maxlen=_LAST_WORDS)
        self.stderr_ended = anyio.Event()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def last_words(self) -> str:
        """The end of what the worker wrote to stderr."""
        return "\n".join(self._words)

    async def send(self, frame: bytes) -> None:
        """
        Raises:
            anyio.BrokenResourceError: the worker is gone.
        """
        await self._stream.send(frame)

    async def receive(self) -> list[wire.FromWorker]:
        """The messages that have arrived; waits for at least some bytes.

        Raises:
            anyio.EndOfStream, anyio.BrokenResourceError: the worker is gone.
        """
        data = await self._stream.receive(1 << 20)
        return [wire.decode_from_worker(body) for body in self._frames.feed(data)]

    async def listen_to_stderr(self) -> None:
        """Keeps the last lines that the worker writes, until it closes its stderr."""
        assert self._process.stderr is not None
        rest = b""
        async for data in self._process.stderr:
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                self._hear(line)
            rest = rest[-4096:]
        self._hear(rest)
        self.stderr_ended.set()

    async def wait(self) -> int:
        """Exit status; negative is the number of the signal that ended it."""
        return await self._process.wait()

    def hung(self, silence_s: float) -> None:
        """Ends a worker that has said nothing for `silence_s` seconds."""
        self._hear(f"silent for {silence_s:.0f} s: killed".encode())
        self.kill()

    def kill(self) -> None:
        if self._process.returncode is None:
            self._process.kill()

    def _hear(self, line: bytes) -> None:
        text = line.decode("utf-8", errors="replace").strip()
        if text:
            self._words.append(text)
            _log.debug("engine worker %d: %s", self.pid, text)


@asynccontextmanager
async def spawn(
    config: wire.Config, command: tuple[str, ...] = WORKER
) -> AsyncGenerator[WorkerProcess, None]:
    """Starts a worker, sends `config`, and ends the worker when the context is left."""
    ours, theirs = socket.socketpair()
    with theirs:
        process = await anyio.open_process(
            [*command, str(theirs.fileno())],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            pass_fds=(theirs.fileno(),),
        )
    try:
        async with await SocketStream.from_socket(ours) as stream:
            worker = WorkerProcess(process, stream)
            await stream.send(wire.encode(config))
            yield worker
    finally:
        with anyio.CancelScope(shield=True):
            await _bury(process)


async def _bury(process: Process) -> None:
    """The socket is closed by now, so the worker leaves by itself after its step; if not, it is killed."""
    with anyio.move_on_after(_GRACE_S):
        await process.wait()
    if process.returncode is None:
        process.kill()
    await process.aclose()
