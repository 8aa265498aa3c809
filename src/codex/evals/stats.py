"""The statistics of evaluations: pass@k, intervals, paired tests. Knows numbers only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

from codex.errors import EvaluationError

CONFIDENCE = 0.95
RESAMPLES = 10_000
Array = npt.NDArray[np.float64]
_Statistic = Callable[[npt.NDArray[np.int64]], Array]


@dataclass(frozen=True, slots=True)
class Interval:
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Difference:
    """`value` is second minus first, with its 95 % interval; `p_value` is two-sided, None without a test."""

    value: float
    interval: Interval
    p_value: float | None = None


def pass_at_k(samples: int, correct: int, k: int) -> float:
    """Unbiased chance that one of `k` of these samples is right (arXiv 2107.03374, equation 1).

    Raises EvaluationError: fewer samples than `k`.
    """
    if samples < k:
        raise EvaluationError(f"pass@{k} needs at least {k} samples a task, there are {samples}")
    if samples - correct < k:
        return 1.0
    return float(1.0 - np.prod(1.0 - k / np.arange(samples - correct + 1, samples + 1)))


def share_interval(passed: int, total: int) -> Interval:
    """Wilson's interval of a share."""
    found = stats.binomtest(passed, total).proportion_ci(CONFIDENCE, method="wilson")
    return Interval(float(found.low), float(found.high))


def mean_interval(values: Sequence[float], *, seed: int = 0) -> Interval:
    """Bootstrap interval of a mean."""
    means = _resampled(len(values), seed, lambda chosen: np.asarray(values, float)[chosen].mean(axis=1))
    return _middle(means)


def ratio_interval(values: Sequence[float], over: Sequence[float], *, seed: int = 0) -> Interval:
    """Bootstrap interval of sum of `values` over sum of `over`, cases drawn as pairs."""
    top, bottom = np.asarray(values, float), np.asarray(over, float)
    return _middle(_resampled(len(values), seed, lambda chosen: _ratio(top[chosen], bottom[chosen])))


def binary_difference(first: Sequence[bool], second: Sequence[bool]) -> Difference:
    """Paired shares: exact McNemar test, bootstrap interval of the difference."""
    a, b = np.asarray(first, float), np.asarray(second, float)
    only_first, only_second = int(((a == 1) & (b == 0)).sum()), int(((a == 0) & (b == 1)).sum())
    mean = mean_difference(a.tolist(), b.tolist())
    return Difference(mean.value, mean.interval, mcnemar(only_first, only_second))


def mcnemar(only_first: int, only_second: int) -> float:
    """Exact two-sided p-value from the discordant pairs; 1 when there are none."""
    total = only_first + only_second
    return float(stats.binomtest(only_first, total, 0.5).pvalue) if total else 1.0


def mean_difference(first: Sequence[float], second: Sequence[float], *, seed: int = 0) -> Difference:
    """Paired bootstrap of the difference of means."""
    gain = np.asarray(second, float) - np.asarray(first, float)
    means = _resampled(len(gain), seed, lambda chosen: gain[chosen].mean(axis=1))
    return Difference(float(gain.mean()), _middle(means))


@dataclass(frozen=True, slots=True)
class Ratio:
    """Per case: what is counted and what it is counted over."""

    values: tuple[float, ...]
    over: tuple[float, ...]


def ratio_difference(first: Ratio, second: Ratio, *, seed: int = 0) -> Difference:
    """Paired bootstrap of the difference of two ratios of sums, over the same cases."""
    a, a_over = np.asarray(first.values, float), np.asarray(first.over, float)
    b, b_over = np.asarray(second.values, float), np.asarray(second.over, float)
    value = _ratio(b[None], b_over[None]) - _ratio(a[None], a_over[None])
    drawn = _resampled(
        len(a),
        seed,
        lambda chosen: _ratio(b[chosen], b_over[chosen]) - _ratio(a[chosen], a_over[chosen]),
    )
    return Difference(float(value[0]), _middle(drawn))


def _ratio(top: Array, bottom: Array) -> Array:
    total = bottom.sum(axis=1)
    shares: Array = np.divide(top.sum(axis=1), total, out=np.zeros_like(total), where=total != 0)
    return shares


def _resampled(count: int, seed: int, statistic: _Statistic) -> Array:
    """The statistic of RESAMPLES draws with replacement, in blocks that bound the memory."""
    if count == 0:
        raise EvaluationError("there is no case to draw from")
    generator = np.random.default_rng(seed)
    block = max(1, 2_000_000 // count)
    parts = []
    for start in range(0, RESAMPLES, block):
        draws = min(block, RESAMPLES - start)
        parts.append(statistic(generator.integers(0, count, size=(draws, count))))
    return np.concatenate(parts)


def _middle(drawn: Array) -> Interval:
    low, high = np.quantile(drawn, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return Interval(float(low), float(high))
