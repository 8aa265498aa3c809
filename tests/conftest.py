"""Shared by every test: state isolated from the user's, anyio on asyncio, the real model prepared once."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from codex.engine.create import openvino_engine
from codex.engine.models import PreparedModel, prepare
from codex.engine.openvino import OpenVinoEngine
from codex.settings import Settings

pytest_plugins = ("tiny_gguf",)


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Of session scope, because the real engine lives in an event loop of the session."""
    return "asyncio"


@pytest.fixture(autouse=True)
def isolated_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees the developer's own CODEX_ settings, except where models and data lie."""
    for name in list(os.environ):
        if (name.startswith("CODEX_") or name == "MAX_CONCURRENT") and name not in {
            "CODEX_MODELS_DIR",
            "CODEX_TEST_DATA",
        }:
            monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def models_dir() -> Path:
    """Where the real model is prepared; kept between runs."""
    return Settings().models_dir


@pytest.fixture(scope="session")
def prepared_model(models_dir: Path) -> PreparedModel:
    """The real 0.5B in its default precision; the first run of all downloads it."""
    return prepare("qwen2.5-coder-0.5b", models_dir=models_dir, quant="int8")


@pytest.fixture(scope="module")
async def real_engine(
    prepared_model: PreparedModel,
    anyio_backend: str,  # noqa: ARG001 - makes it a fixture of the event loop that the tests share
) -> AsyncGenerator[OpenVinoEngine, None]:
    """The real model in its worker process. Whoever kills the worker waits until it is back.

    One for each module: a longer life would keep the event loop, and sync tests could not run their own.
    """
    engine = openvino_engine(prepared_model, Settings(kv_cache_bytes=1 << 30))
    await engine.start()
    yield engine
    await engine.stop()


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The public benchmark files; a test that needs them is skipped, and says so, where they are absent."""
    path = Path(os.environ.get("CODEX_TEST_DATA", Path(__file__).parents[2] / "shared" / "data"))
    if not path.is_dir():
        pytest.skip(f"no benchmark files at {path}: set CODEX_TEST_DATA to their folder")
    return path
