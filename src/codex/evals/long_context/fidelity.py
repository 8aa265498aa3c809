"""What a sparse prefill changes in the next-token distribution: agreement and KL against dense attention.

A document is read in the portions that the engine reads. At chosen places the answer would begin: there the
engine's last portion is dense again, and the text goes on, token by token, as an answer does. The
distributions over the whole vocabulary are compared at those tokens, so the KL is exact, not sampled.
Knows no engine: the model is a `LogitModel`, attention a mask.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from codex.evals.long_context.attention import BLOCK, Attention

Floats = npt.NDArray[np.float32]
Flags = npt.NDArray[np.bool_]


class LogitModel(Protocol):
    """A causal language model that keeps what it has read."""

    def reset(self) -> None:
        """Forgets everything."""
        ...

    def read(self, tokens: Sequence[int], start: int, visible: Flags) -> Floats:
        """Logits [len(tokens), vocabulary] after each of `tokens`, the first of which is number `start`.

        `visible` flags everything that was ever read since `reset`, these tokens included: what is not
        visible takes no part in attention.
        """
        ...


@dataclass(frozen=True, slots=True)
class Span:
    """Where an answer begins: `length` tokens from token number `start` on are compared."""

    start: int
    length: int


@dataclass(frozen=True, slots=True)
class SpanScore:
    """Means over the span's tokens. `agreement`: share of tokens whose likeliest token is the same.

    `kl` is KL(dense || sparse) in nats; `nll_…` the cost of the real text; `first_agrees` counts the first
    token alone, `delta_logprob` the mean loss of log-probability of dense's own choice.
    """

    span: Span
    agreement: float
    first_agrees: bool
    kl: float
    nll_dense: float
    nll_sparse: float
    delta_logprob: float


def spans_at(lengths: Sequence[int], *, each: int, length: int, portion: int) -> tuple[Span, ...]:
    """`each` spans up to every one of `lengths`, a few portions apart, all at the start of a portion."""
    gap = portion * max(1, -(-length // portion) + 1)
    starts = {(top // portion) * portion - number * gap for top in lengths for number in range(each)}
    return tuple(Span(start, length) for start in sorted(starts) if start >= portion)


class Reader:
    """Reads one document under one attention; distributions at `spans`."""

    def __init__(self, model: LogitModel, attention: Attention, portion: int) -> None:
        self._model = model
        self._attention = attention
        self._portion = portion
        self._real = np.zeros(0, dtype=np.bool_)
        """Of everything read: False for what was read beside the document, at a span."""

    def log_probs(
        self, tokens: Sequence[int], spans: Sequence[Span], tick: Callable[[int], None] = lambda _: None
    ) -> list[Floats]:
        """Log-probabilities [length, vocabulary] of each span's tokens. `tick` counts tokens read."""
        self._model.reset()
        self._real = np.zeros(0, dtype=np.bool_)
        waiting = {span.start: span for span in spans}
        found: list[Floats] = []
        for start in range(0, max(waiting) if waiting else 0, self._portion):
            end = start + self._portion
            if end in waiting:
                found.append(self._at(tokens, waiting[end]))
            self._read(tokens[start:end], start, sparse=True, keep=True)
            tick(self._portion)
        return found

    def _at(self, tokens: Sequence[int], span: Span) -> Floats:
        """The last portion before the span and the span itself, dense, then forgotten."""
        start = span.start - self._portion
        end = span.start + span.length - 1
        logits = self._read(tokens[start:end], start, sparse=False, keep=False)
        return log_softmax(logits[-span.length :])

    def _read(self, tokens: Sequence[int], start: int, *, sparse: bool, keep: bool) -> Floats:
        past = self._real & self._seen(start) if sparse else self._real
        new = np.ones(len(tokens), dtype=np.bool_)
        logits = self._model.read(tokens, start, np.concatenate([past, new]))
        self._real = np.concatenate([self._real, new if keep else ~new])
        return logits

    def _seen(self, start: int) -> Flags:
        """What the portion at `start` sees of everything read before, as the engine's TRISHAPE skips it."""
        if self._attention.kind != "trishape":
            return np.ones_like(self._real)
        blocks = start // BLOCK
        sink, recent = self._attention.sink // BLOCK, self._attention.recent // BLOCK
        seen = np.ones(start, dtype=np.bool_)
        if blocks > sink + recent:
            seen[sink * BLOCK : (blocks - recent) * BLOCK] = False
        flags = np.zeros_like(self._real)
        flags[np.flatnonzero(self._real)] = seen
        return flags


def log_softmax(logits: Floats) -> Floats:
    shifted = logits - logits.max(axis=-1, keepdims=True)
    result: Floats = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return result


def score_span(span: Span, tokens: Sequence[int], dense: Floats, sparse: Floats) -> SpanScore:
    """Compares log-probabilities [length, vocabulary] of one span."""
    rows = np.arange(span.length)
    real = np.asarray(tokens[span.start : span.start + span.length])
    best = dense.argmax(axis=1)
    same = best == sparse.argmax(axis=1)
    kl = (np.exp(dense) * (dense - sparse)).sum(axis=1)
    return SpanScore(
        span=span,
        agreement=float(same.mean()),
        first_agrees=bool(same[0]),
        kl=float(kl.mean()),
        nll_dense=float(-dense[rows, real].mean()),
        nll_sparse=float(-sparse[rows, real].mean()),
        delta_logprob=float((dense[rows, best] - sparse[rows, best]).mean()),
    )
