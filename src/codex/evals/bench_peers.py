"""Other engines on the same tokens, when their package is installed. They are never dependencies of ours."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from codex.errors import EvaluationError
from codex.evals.bench_load import all_at_once, connections
from codex.evals.bench_subjects import Arrivals, Subject

PeerName = Literal["xllamacpp", "llama-cpp-python"]
PEERS: dict[PeerName, str] = {"xllamacpp": "xllamacpp", "llama-cpp-python": "llama_cpp"}
"""Package name on PyPI to module name."""


def require(peer: PeerName) -> None:
    """Raises EvaluationError: the package is not installed here."""
    if find_spec(PEERS[peer]) is None:
        raise EvaluationError(
            f"{peer} is not installed: pip install {peer} into this environment, then run the same command"
        )


@asynccontextmanager
async def peer(name: PeerName, weights: Path, *, context: int, streams: int) -> AsyncGenerator[Subject, None]:
    """Loads the GGUF `weights` for prompts of `context` tokens and `streams` answers at once."""
    require(name)
    if name == "xllamacpp":
        yield XllamaCpp(weights, context=context, streams=streams)
    else:
        yield LlamaCppPython(weights, context=context)


class XllamaCpp:
    """llama.cpp's own server inside this process, measured through its HTTP port as anybody would."""

    name = "xllamacpp"

    def __init__(self, weights: Path, *, context: int, streams: int) -> None:
        library: Any = import_module("xllamacpp")
        params = library.CommonParams()
        params.model.path = str(weights)
        params.n_parallel = streams
        params.kv_unified = True
        params.n_ctx = max(context, streams * 512)
        params.n_predict = 256
        params.port = 0
        params.cpuparams.n_threads = os.cpu_count() or 1
        params.cpuparams_batch.n_threads = os.cpu_count() or 1
        params.endpoint_metrics = False
        params.cache_ram_mib = 0
        self.max_streams = streams
        self._server = library.Server(params)

    async def answer(self, prompts: Sequence[Sequence[int]], max_tokens: int) -> Arrivals:
        bodies = [
            {
                "prompt": list(prompt),
                "n_predict": max_tokens,
                "temperature": 0,
                "ignore_eos": True,
                "cache_prompt": False,
                "stream": True,
            }
            for prompt in prompts
        ]
        async with connections(self._server.listening_address, len(prompts)) as opened:
            return [list(timing.at_s) for timing in await all_at_once(opened, "/completion", bodies)]


class LlamaCppPython:
    """One answer at a time: its Python interface has no batching over requests."""

    name = "llama-cpp-python"
    max_streams = 1

    def __init__(self, weights: Path, *, context: int) -> None:
        library: Any = import_module("llama_cpp")
        self._model = library.Llama(
            str(weights),
            n_ctx=context,
            n_threads=os.cpu_count(),
            n_threads_batch=os.cpu_count(),
            verbose=False,
        )

    async def answer(self, prompts: Sequence[Sequence[int]], max_tokens: int) -> Arrivals:
        started = time.perf_counter()
        return [self._one(prompt, max_tokens, started) for prompt in prompts]

    def _one(self, prompt: Sequence[int], max_tokens: int, started: float) -> list[float]:
        """`generate` never ends by itself, also not at an end token: the count ends it."""
        self._model.reset()
        arrivals: list[float] = []
        for _ in self._model.generate(list(prompt), temp=0.0):
            arrivals.append(time.perf_counter() - started)
            if len(arrivals) == max_tokens:
                break
        return arrivals
