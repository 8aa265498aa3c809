"""What an engine step will cost, from what steps cost before. Knows no requests.

Attention makes a prompt token dearer the further down it stands, a machine may slow down at any time, and
each CPU has its own curve. So nothing is modelled: a moving average of what a prompt token cost at each
depth and of what a step with so many decoding sequences cost is kept, and the nearest one looked up.
"""

from __future__ import annotations

_WEIGHT = 0.3
_OUTLIER = 3.0
"""One measurement moves an average by at most this factor: a pause of the machine is not a trend."""
_DEPTH_BUCKET = 1024


class Pace:
    """Costs in milliseconds. `token_ms` is the guess for a prompt token before anything was measured."""

    def __init__(self, *, token_ms: float = 2.0) -> None:
        self._guess_ms = token_ms
        self._token_ms: dict[int, float] = {}
        self._decode_ms: dict[int, float] = {}

    def token_ms(self, depth: int) -> float:
        """Cost of one more prompt token at position `depth`."""
        return _nearest(self._token_ms, depth // _DEPTH_BUCKET, self._guess_ms)

    def decode_ms(self, decoding: int) -> float:
        """Cost of a step that only decodes, for `decoding` sequences."""
        return _nearest(self._decode_ms, decoding, 0.0) if decoding else 0.0

    def observe(self, step_ms: float, *, decoding: int, prefill_tokens: int, depth: int) -> None:
        """Learns from a step of `decoding` sequences and `prefill_tokens` prompt tokens around `depth`."""
        if prefill_tokens == 0:
            _update(self._decode_ms, decoding, step_ms)
        else:
            spent_ms = max(step_ms - self.decode_ms(decoding), step_ms / 4)
            _update(self._token_ms, depth // _DEPTH_BUCKET, spent_ms / prefill_tokens)


def _update(table: dict[int, float], bucket: int, value: float) -> None:
    old = table.get(bucket)
    if old is None:
        table[bucket] = value
        return
    bounded = min(max(value, old / _OUTLIER), old * _OUTLIER)
    table[bucket] = old + _WEIGHT * (bounded - old)


def _nearest(table: dict[int, float], bucket: int, otherwise: float) -> float:
    if not table:
        return otherwise
    known = table.get(bucket)
    if known is not None:
        return known
    return table[min(table, key=lambda other: (abs(other - bucket), -other))]
