"""Runs code that nobody has read, and survives it: the one place where a model's code is executed.

Knows limits and results; how bubblewrap is told so is in `sandbox_bwrap`, reading its output in `sandbox_io`.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from codex.errors import SandboxUnavailable
from codex.guard.sandbox_bwrap import Cell, launch
from codex.guard.sandbox_io import Ending, Watched, pump

Status = Literal["ok", "failed", "timeout", "memory", "killed"]


@dataclass(frozen=True, slots=True)
class Limits:
    """What one run may use. Defaults are those of the specification (G5).

    `memory_bytes` bounds each process's address space and, watched from outside, the sum of all processes'
    resident memory. `file_bytes` bounds each of the two writable folders (/tmp, /dev/shm) and each file.
    `output_bytes` bounds stdout and stderr, each. `nice` is added to our own niceness.
    """

    timeout_s: float = 5.0
    memory_bytes: int = 512 << 20
    processes: int = 16
    file_bytes: int = 16 << 20
    output_bytes: int = 1 << 20
    nice: int = 10


@dataclass(frozen=True, slots=True)
class SandboxResult:
    """How a run ended.

    ok: exit status 0. failed: another one. timeout: stopped by the clock. memory: stopped by a memory limit.
    killed: ended by a signal, or by us because it wrote too much. `exit_code` is None when we ended it.
    """

    status: Status
    stdout: str
    stderr: str
    exit_code: int | None
    seconds: float


class Sandbox:
    """A cell without network, with a file system of its own and a process namespace that dies as one.

    Each run is a new one; one instance may be used from many threads. `readable` are further paths that
    the code may read. The interpreter is our own, with the packages beside it, never the project's files.
    """

    def __init__(self, limits: Limits | None = None, *, readable: tuple[Path, ...] = ()) -> None:
        self.limits = limits or Limits()
        self._readable = readable

    def check(self) -> None:
        """Raises SandboxUnavailable: code cannot be run safely on this machine; says why."""
        _probe()

    def run_python(
        self,
        code: str,
        *,
        stdin: str = "",
        files: Mapping[str, bytes] | None = None,
        timeout_s: float | None = None,
    ) -> SandboxResult:
        """Runs `code` as a script; `files` stand read-only in /sandbox under their names. Blocks.

        Every descendant is gone when this returns. When the calling process dies, the run dies with it.

        Raises:
            SandboxUnavailable: no bubblewrap here, or the kernel forbids it.
        """
        self.check()
        return self._run(code, stdin, files or {}, timeout_s or self.limits.timeout_s)

    def _run(self, code: str, stdin: str, files: Mapping[str, bytes], timeout_s: float) -> SandboxResult:
        limits = self.limits
        cell = Cell(
            memory_bytes=limits.memory_bytes,
            processes=limits.processes,
            file_bytes=limits.file_bytes,
            cpu_s=int(timeout_s * limits.processes) + 1,
            nice=limits.nice,
            readable=self._readable,
        )
        started = time.monotonic()
        with launch(cell, dict(files) | {"main.py": code.encode()}) as run:
            watched = Watched(started + timeout_s, limits.memory_bytes, limits.output_bytes)
            ending = pump(run, stdin.encode(), watched)
        return _result(ending, time.monotonic() - started)


def _result(ending: Ending, seconds: float) -> SandboxResult:
    return SandboxResult(
        status=_status(ending),
        stdout=ending.stdout.decode(errors="replace"),
        stderr=ending.stderr.decode(errors="replace"),
        exit_code=None if ending.ended_by_us else ending.exit_code,
        seconds=seconds,
    )


def _status(ending: Ending) -> Status:
    if ending.ended_by_us is not None:
        return "killed" if ending.ended_by_us == "output" else ending.ended_by_us
    if ending.exit_code == 0:
        return "ok"
    last = ending.stderr.rstrip().rpartition(b"\n")[2]
    if last.startswith(b"MemoryError"):
        return "memory"
    # bubblewrap reports a signal as 128 + its number, as a shell does.
    return "killed" if ending.exit_code > 128 or ending.exit_code < 0 else "failed"


_PROBE = """
import os, resource, socket
assert resource.getrlimit(resource.RLIMIT_NPROC)[1] == 16
assert os.getuid() != 0 and sorted(name for _, name in socket.if_nameindex()) == ["lo"]
print("sealed")
"""


@cache
def _probe() -> None:
    if sys.platform != "linux":
        raise SandboxUnavailable("code from a model runs only in bubblewrap, which needs Linux")
    try:
        found = Sandbox(Limits(timeout_s=30.0))._run(_PROBE, "", {}, 30.0)
    except (OSError, subprocess.SubprocessError) as error:
        raise SandboxUnavailable(f"bubblewrap could not be started: {error}") from error
    if found.stdout != "sealed\n":
        raise SandboxUnavailable(
            "bubblewrap does not work here, so code from a model is not run. It needs user namespaces "
            f"(or root with CAP_SYS_ADMIN). It said: {found.stderr.strip() or found.status}"
        )
