"""Statistics against known values."""

from __future__ import annotations

import random

import pytest

from codex.errors import EvaluationError
from codex.evals.stats import (
    Ratio,
    binary_difference,
    mcnemar,
    mean_difference,
    mean_interval,
    pass_at_k,
    ratio_difference,
    ratio_interval,
    share_interval,
)


@pytest.mark.parametrize(
    ("samples", "correct", "k", "expected"),
    [(1, 1, 1, 1.0), (1, 0, 1, 0.0), (10, 3, 1, 0.3), (5, 2, 3, 0.9), (200, 10, 100, 0.9993), (3, 0, 3, 0.0)],
)
def test_pass_at_k_is_the_papers_estimate(samples: int, correct: int, k: int, expected: float) -> None:
    assert pass_at_k(samples, correct, k) == pytest.approx(expected, abs=1e-4)


def test_pass_at_k_needs_k_samples() -> None:
    with pytest.raises(EvaluationError, match="needs at least 5"):
        pass_at_k(3, 1, 5)


def test_wilson_interval_of_known_share() -> None:
    found = share_interval(94, 164)
    assert (found.low, found.high) == pytest.approx((0.4966, 0.6464), abs=2e-4)
    assert share_interval(0, 8).low == 0


@pytest.mark.parametrize(("b", "c", "p"), [(0, 0, 1.0), (1, 9, 0.021484375), (5, 5, 1.0), (0, 6, 0.03125)])
def test_mcnemar_is_exact(b: int, c: int, p: float) -> None:
    assert mcnemar(b, c) == pytest.approx(p)


def test_paired_shares_use_only_discordant_pairs() -> None:
    first = [True] * 40 + [False] * 60
    second = [True] * 31 + [False] * 9 + [True] * 1 + [False] * 59
    found = binary_difference(first, second)
    assert found.value == pytest.approx(-0.08)
    assert found.p_value == pytest.approx(0.021484375)
    assert found.interval.low < -0.08 < found.interval.high < 0


def test_bootstrap_covers_the_mean_about_as_often_as_it_says() -> None:
    generator = random.Random(1)
    hits = 0
    for seed in range(60):
        found = mean_interval([generator.gauss(3, 1) for _ in range(50)], seed=seed)
        hits += found.low <= 3 <= found.high
    assert hits >= 50


def test_equal_runs_show_no_difference() -> None:
    found = mean_difference([1.0, 2.0, 3.0], [1.0, 2.0, 3.0])
    assert (found.value, found.interval.low, found.interval.high) == (0, 0, 0)


def test_ratio_weighs_cases_by_their_size() -> None:
    first, second = Ratio((1, 0), (10, 90)), Ratio((1, 90), (10, 90))
    assert ratio_difference(first, second).value == pytest.approx(0.90)
    found = ratio_interval((1, 9), (10, 90))
    assert (found.low, found.high) == pytest.approx((0.1, 0.1))


def test_intervals_repeat_with_their_seed() -> None:
    values = [0.0, 1.0, 1.0, 0.5, 0.25]
    assert mean_interval(values, seed=3) == mean_interval(values, seed=3)


def test_no_case_is_an_error() -> None:
    with pytest.raises(EvaluationError):
        mean_interval([])
