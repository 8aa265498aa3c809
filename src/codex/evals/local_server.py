"""Starts our own server as a process of its own for a measurement and ends it by its process id.

Knows the command line and /readyz; never imports the server, so that we are measured as a peer is.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import httpx2

from codex.errors import EvaluationError
from codex.settings import Settings

START_TIMEOUT_S = 900.0
"""A first start may have to fetch and prepare the model."""


@contextmanager
def local_server(
    settings: Settings, *, start_timeout_s: float = START_TIMEOUT_S, environ: Mapping[str, str] | None = None
) -> Iterator[str]:
    """Yields the base URL of `codex-cli serve` with these settings, on a free loopback port.

    `environ` adds variables of the child's environment to those that the settings make.

    Raises:
        EvaluationError: the server ended or was not ready in time; its last log lines are in the message.
    """
    port = _free_port()
    url = f"http://127.0.0.1:{port}"
    with tempfile.TemporaryFile("w+", errors="replace") as log:
        process = subprocess.Popen(
            [sys.executable, "-c", "from codex.cli import main; main()", "serve"],
            env=dict(os.environ) | _environment(settings, port) | dict(environ or {}),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            _wait_ready(process, url, log, start_timeout_s)
            yield url
        finally:
            _end(process)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def _environment(settings: Settings, port: int) -> dict[str, str]:
    values = settings.model_copy(update={"host": "127.0.0.1", "port": port}).model_dump(mode="json")
    return {
        f"CODEX_{name.upper()}": str(value)
        for name, value in values.items()
        if isinstance(value, str | int | float | Path)
    }


def _wait_ready(process: subprocess.Popen[bytes], url: str, log: IO[str], timeout_s: float) -> None:
    deadline = time.monotonic() + timeout_s
    with httpx2.Client(timeout=5.0) as client:
        while time.monotonic() < deadline:
            if process.poll() is not None:
                raise EvaluationError(f"the server ended with status {process.returncode}:\n{_tail(log)}")
            try:
                if client.get(f"{url}/readyz").status_code == 200:
                    return
            except httpx2.TransportError:
                pass  # not listening yet: the deadline and poll() above end the wait
            time.sleep(0.2)
    raise EvaluationError(f"the server was not ready after {timeout_s:.0f} s:\n{_tail(log)}")


def _tail(log: IO[str], lines: int = 15) -> str:
    log.seek(0)
    return "".join(log.readlines()[-lines:])


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(timeout=20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
