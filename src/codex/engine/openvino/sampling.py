"""From our sampling values to OpenVINO's generation config. Knows no pipeline."""

from __future__ import annotations

import openvino_genai as genai

from codex.engine.openvino.wire import Submit

_NO_STOP = 0
"""OpenVINO insists on an end-of-text id among the stop ids even where it is told to ignore them."""


def generation_config(submit: Submit) -> genai.GenerationConfig:
    """Our stop ids alone end an answer; what the model's own configuration says is not asked."""
    config = genai.GenerationConfig()
    config.max_new_tokens = submit.max_tokens
    config.repetition_penalty = submit.repetition_penalty
    config.frequency_penalty = submit.frequency_penalty
    config.presence_penalty = submit.presence_penalty
    config.logprobs = int(submit.logprobs)
    _set_stops(config, submit.stop_token_ids)
    if submit.temperature > 0:
        config.do_sample = True
        config.temperature = submit.temperature
        config.top_p = submit.top_p
        config.rng_seed = submit.seed
        if submit.top_k:
            config.top_k = submit.top_k
    return config


def portion_config() -> genai.GenerationConfig:
    """For a portion of a prompt: one token, which nobody reads."""
    config = genai.GenerationConfig()
    config.max_new_tokens = 1
    _set_stops(config, ())
    return config


def _set_stops(config: genai.GenerationConfig, stops: tuple[int, ...]) -> None:
    config.ignore_eos = not stops
    config.stop_token_ids = set(stops) or {_NO_STOP}
    config.eos_token_id = stops[0] if stops else _NO_STOP
