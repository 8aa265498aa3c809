"""Reads a running cell's output, watches its clock, size and memory, and ends it. Knows no bubblewrap."""

from __future__ import annotations

import os
import selectors
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import IO, Literal

import psutil

from codex.guard.sandbox_bwrap import Run

EndedByUs = Literal["timeout", "memory", "output"]
_LOOK_EVERY_S = 0.1
_CHUNK = 1 << 16


@dataclass(frozen=True, slots=True)
class Watched:
    """`deadline` on the monotonic clock; bytes as in `sandbox.Limits`."""

    deadline: float
    memory_bytes: int
    output_bytes: int


@dataclass(frozen=True, slots=True)
class Ending:
    stdout: bytes
    stderr: bytes
    exit_code: int
    ended_by_us: EndedByUs | None


def pump(run: Run, stdin: bytes, watched: Watched) -> Ending:
    """Feeds and reads until the run is over or over its limits. Every process of it is gone afterwards."""
    pipes = _Pipes(run, stdin)
    ended: EndedByUs | None = None
    try:
        with pipes.selector() as selector:
            ended = _follow(run, pipes, selector, watched)
    finally:
        _end(run)
    return Ending(bytes(pipes.out), bytes(pipes.err), run.process.returncode, ended)


def _follow(run: Run, pipes: _Pipes, selector: selectors.BaseSelector, watched: Watched) -> EndedByUs | None:
    look_at = time.monotonic() + _LOOK_EVERY_S
    while pipes.open and run.process.poll() is None:
        now = time.monotonic()
        if now >= watched.deadline:
            return "timeout"
        if now >= look_at:
            look_at = now + _LOOK_EVERY_S
            if _resident_bytes(run.process.pid) > watched.memory_bytes:
                return "memory"
        for key, _ in selector.select(min(watched.deadline, look_at) - now):
            pipes.serve(selector, key)
        if pipes.largest > watched.output_bytes:
            return "output"
    if not pipes.open:
        return _await_exit(run, watched.deadline)
    pipes.drain(watched.output_bytes)
    return None


def _await_exit(run: Run, deadline: float) -> EndedByUs | None:
    """Both pipes are closed; what is left is a process that writes nothing more."""
    while run.process.poll() is None:
        if time.monotonic() >= deadline:
            return "timeout"
        time.sleep(0.005)
    return None


def _resident_bytes(pid: int) -> int:
    total = 0
    with suppress(psutil.Error):
        for child in psutil.Process(pid).children(recursive=True):
            with suppress(psutil.Error):
                total += child.memory_info().rss
    return total


def _end(run: Run) -> None:
    """Kills the cell's first process and waits for it: the kernel lets it go last of all inside."""
    if run.inner is not None:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(run.inner, signal.SIGKILL)
        with selectors.DefaultSelector() as selector:
            selector.register(run.inner, selectors.EVENT_READ)
            selector.select()
    elif run.process.poll() is None:
        run.process.kill()
    run.process.wait()


class _Pipes:
    """The three pipes of a run and what came out of them."""

    def __init__(self, run: Run, stdin: bytes) -> None:
        process = run.process
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self._stdin, self._stdout, self._stderr = process.stdin, process.stdout, process.stderr
        self._left = memoryview(stdin)
        self.out, self.err = bytearray(), bytearray()
        self.open = 2

    @property
    def largest(self) -> int:
        return max(len(self.out), len(self.err))

    @contextmanager
    def selector(self) -> Iterator[selectors.BaseSelector]:
        with selectors.DefaultSelector() as selector:
            for pipe in (self._stdout, self._stderr):
                os.set_blocking(pipe.fileno(), False)
                selector.register(pipe, selectors.EVENT_READ)
            os.set_blocking(self._stdin.fileno(), False)
            if self._left:
                selector.register(self._stdin, selectors.EVENT_WRITE)
            else:
                self._stdin.close()
            yield selector

    def serve(self, selector: selectors.BaseSelector, key: selectors.SelectorKey) -> None:
        if key.fileobj is self._stdin:
            self._feed(selector)
        elif not self._read(key.fileobj is self._stdout):
            selector.unregister(key.fileobj)
            self.open -= 1

    def _feed(self, selector: selectors.BaseSelector) -> None:
        try:
            self._left = self._left[os.write(self._stdin.fileno(), self._left[:_CHUNK]) :]
        except BlockingIOError:
            return
        except BrokenPipeError:
            self._left = self._left[:0]
        if not self._left:
            selector.unregister(self._stdin)
            self._stdin.close()

    def _read(self, is_out: bool) -> bool:
        pipe: IO[bytes] = self._stdout if is_out else self._stderr
        try:
            data = os.read(pipe.fileno(), _CHUNK)
        except BlockingIOError:
            return True
        (self.out if is_out else self.err).extend(data)
        return bool(data)

    def drain(self, limit: int) -> None:
        """What was written before the end and not read yet, as far as it may be kept."""
        for is_out, kept in ((True, self.out), (False, self.err)):
            before = -1
            while before < len(kept) <= limit:
                before = len(kept)
                self._read(is_out)
