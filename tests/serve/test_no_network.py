"""A prepared model starts and answers where no network is (invariant 10)."""

from __future__ import annotations

import subprocess
import sys

import pytest

from codex.engine.models import PreparedModel
from codex.guard.sandbox_bwrap import find_bwrap

pytestmark = pytest.mark.model

INSIDE = """
import socket, sys
from pathlib import Path
from codex.client import CodexClient
from codex.evals.local_server import local_server
from codex.settings import Settings

with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
    try:
        probe.connect(("192.0.2.1", 9))
    except OSError as error:
        print("no route:", error.strerror)
with local_server(Settings(models_dir=Path(sys.argv[1]), kv_cache_bytes=256 << 20)) as url:
    with CodexClient(url) as codex:
        answer = codex.complete("def add(a, b):\\n    return ", suffix="\\n", temperature=0, max_tokens=8)
        print("answer:", answer.text)
"""


def test_a_prepared_model_is_served_without_any_route(prepared_model: PreparedModel) -> None:
    inside = [sys.executable, "-c", INSIDE, str(prepared_model.path.parent)]
    walls = [find_bwrap(), "--dev-bind", "/", "/", "--unshare-net", "--die-with-parent", "--"]
    done = subprocess.run(walls + inside, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["no route: Network is unreachable", "answer: a + b"]
