"""Checks a request against what this engine can take, and turns it into a message to the worker.

OpenVINO takes any token id and any length without a word and answers nonsense, so everything is checked here.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from codex.engine.openvino.wire import Submit, pack_tokens
from codex.errors import ContextLengthExceeded, RequestError
from codex.types import EngineRequest, Sampling

_SEED_BITS = 32


@dataclass(frozen=True, slots=True)
class Limits:
    """What a request must fit into, in tokens. `memory` is what the whole KV cache holds."""

    vocab_size: int
    context_length: int
    memory: int


def submit_of(request: EngineRequest, id_: int, limits: Limits) -> Submit:
    """
    Raises:
        ContextLengthExceeded: prompt and answer together do not fit the model or the memory.
        RequestError: a token id or sampling value is out of range.
    """
    _check_tokens(request, limits)
    _check_sampling(request.sampling)
    sampling = request.sampling
    seed = random.getrandbits(_SEED_BITS) if sampling.seed is None else sampling.seed % (1 << _SEED_BITS)
    return Submit(
        id=id_,
        tokens=pack_tokens(request.tokens),
        max_tokens=sampling.max_tokens,
        temperature=sampling.temperature,
        top_p=sampling.top_p,
        top_k=sampling.top_k,
        frequency_penalty=sampling.frequency_penalty,
        presence_penalty=sampling.presence_penalty,
        repetition_penalty=sampling.repetition_penalty,
        seed=seed,
        logprobs=sampling.logprobs,
        stop_token_ids=tuple(sorted(request.stop_token_ids)),
    )


def _check_tokens(request: EngineRequest, limits: Limits) -> None:
    tokens = request.tokens
    if not tokens:
        raise RequestError("the prompt is empty: it needs at least one token", param="prompt")
    if min(tokens) < 0 or max(tokens) >= limits.vocab_size:
        raise RequestError(
            f"the prompt holds a token id outside the vocabulary: ids are 0 to {limits.vocab_size - 1}",
            param="prompt",
        )
    if any(not 0 <= stop < limits.vocab_size for stop in request.stop_token_ids):
        raise RequestError("a stop token id is outside the vocabulary", param="stop_token_ids")
    if request.sampling.max_tokens < 1:
        raise RequestError("max_tokens must be at least 1", param="max_tokens")
    wanted = len(tokens) + request.sampling.max_tokens
    asked = f"{len(tokens)} prompt tokens and up to {request.sampling.max_tokens} of the answer"
    if wanted > limits.context_length:
        raise ContextLengthExceeded(
            f"{asked} do not fit the model's window of {limits.context_length} tokens", param="prompt"
        )
    if wanted > limits.memory:
        raise ContextLengthExceeded(
            f"{asked} do not fit the KV cache of {limits.memory} tokens: raise CODEX_KV_CACHE_BYTES",
            param="prompt",
        )


def _check_sampling(sampling: Sampling) -> None:
    """Written so that NaN fails every comparison."""
    _require(0.0 <= sampling.temperature <= 100.0, "temperature", "0 (greedy) to 100")
    _require(0.0 < sampling.top_p <= 1.0, "top_p", "more than 0, at most 1")
    _require(0 <= sampling.top_k < 1 << 31, "top_k", "0 (no limit) or more")
    _require(-2.0 <= sampling.frequency_penalty <= 2.0, "frequency_penalty", "-2 to 2")
    _require(-2.0 <= sampling.presence_penalty <= 2.0, "presence_penalty", "-2 to 2")
    _require(0.0 < sampling.repetition_penalty <= 10.0, "repetition_penalty", "more than 0, at most 10")


def _require(holds: bool, param: str, allowed: str) -> None:
    if not holds:
        raise RequestError(f"{param} must be {allowed}", param=param)
