"""The `llm` command line with its OpenAI-compatible model option, as its documentation sets it up."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import anyio
import pytest

from codex.engine.mock import MockEngine

pytestmark = pytest.mark.anyio

OnPort = Callable[..., AbstractAsyncContextManager[Any]]
MODELS = """\
- model_id: local-chat
  model_name: mock
  api_base: {url}/v1
- model_id: local-completion
  model_name: mock
  api_base: {url}/v1
  completion: true
"""


async def llm(folder: Path, *arguments: str) -> str:
    environment = {**os.environ, "LLM_USER_PATH": str(folder), "OPENAI_API_KEY": "none"}
    command = [sys.executable, "-m", "llm", *arguments]
    with anyio.fail_after(120):
        done = await anyio.run_process(command, env=environment, check=False, stdin=None)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode().strip()


async def test_llm_asks_chat_and_completion_models(live: OnPort, tmp_path: Path) -> None:
    engine = MockEngine("answer größe")
    async with live(engine) as running:
        (tmp_path / "extra-openai-models.yaml").write_text(MODELS.format(url=running.url))
        chat = await llm(tmp_path, "-m", "local-chat", "hello")
        whole = await llm(tmp_path, "-m", "local-chat", "--no-stream", "hello")
        completion = await llm(tmp_path, "-m", "local-completion", "hello")
    assert chat == whole == completion == "answer größe"
    assert len(engine.seen) == 3
