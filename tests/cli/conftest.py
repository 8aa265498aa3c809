"""One server on the mock engine, a process of its own, for every command that needs one."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from codex.evals.local_server import local_server
from codex.settings import Settings


@pytest.fixture(scope="session")
def mock_url() -> Iterator[str]:
    with local_server(Settings(backend="mock"), start_timeout_s=60) as url:
        yield url


@pytest.fixture
def closed_url() -> str:
    """An address where nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}"
