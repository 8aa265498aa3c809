"""Decoding defaults for what a request leaves out (SPEC B3). Knows no transport."""

from __future__ import annotations

from dataclasses import dataclass

from codex.settings import Preset


@dataclass(frozen=True, slots=True)
class Defaults:
    max_tokens: int
    temperature: float
    top_p: float
    frequency_penalty: float


PRESETS: dict[Preset, Defaults] = {
    "single": Defaults(max_tokens=128, temperature=0.3, top_p=0.95, frequency_penalty=0.2),
    "throughput": Defaults(max_tokens=64, temperature=0.7, top_p=0.9, frequency_penalty=0.5),
}


def frequency_penalty(asked: float | None, temperature: float, defaults: Defaults) -> float:
    """Greedy means greedy: with temperature 0 a penalty acts only where the request asks for it."""
    if asked is not None:
        return asked
    return 0.0 if temperature == 0 else defaults.frequency_penalty
