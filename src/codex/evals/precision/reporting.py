"""One table of all conditions: pass rate, paired loss against the reference, speed, memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from codex.evals.compare import Compared, compare
from codex.evals.precision.conditions import Condition
from codex.evals.precision.speed import Speed
from codex.evals.report import Case, JsonValue, Measure, Plot, Report, Series, Table, figure
from codex.evals.stats import share_interval


@dataclass(frozen=True, slots=True)
class Measured:
    """What one condition brought. Bytes are None where they are not known."""

    condition: Condition
    report: Report
    speed: Speed
    peak_bytes: int | None
    weights_bytes: int | None


@dataclass(frozen=True, slots=True)
class Paired:
    """One condition against the reference, task by task. `lost` passed in the reference only."""

    same_outcome: float
    lost: int
    gained: int
    compared: Compared


def paired(reference: Report, other: Report, measure: str) -> Paired:
    """Raises EvaluationError: the two have no task in common."""
    compared = next(row for row in compare(reference, other) if row.measure.name == measure)
    value = compared.measure.value
    others = {case.id: case.values[value] for case in other.cases}
    pairs = [(case.values[value], others[case.id]) for case in reference.cases if case.id in others]
    return Paired(
        same_outcome=sum(a == b for a, b in pairs) / len(pairs),
        lost=sum(a > b for a, b in pairs),
        gained=sum(a < b for a, b in pairs),
        compared=compared,
    )


def precision_report(measured: Sequence[Measured], measure: str, config: Mapping[str, JsonValue]) -> Report:
    """Figures by condition. The first of `measured` is the reference.

    Raises EvaluationError: a condition was run on other tasks.
    """
    reference = measured[0]
    pairs = [paired(reference.report, item.report, measure) for item in measured]
    figures: dict[str, JsonValue] = {
        "reference": reference.condition.label,
        "measure": measure,
        "tasks": len(reference.report.cases),
        "conditions": {
            item.condition.label: _figures(item, pair, measure)
            for item, pair in zip(measured, pairs, strict=True)
        },
    }
    return Report(
        "precision",
        figures,
        config,
        _cases(measured, measure),
        (Measure(measure, "binary", "right"),),
        (_table(measured, pairs, measure),),
        (_plot(measured, measure),),
    )


def _figures(item: Measured, pair: Paired, measure: str) -> JsonValue:
    difference = pair.compared.difference
    return {
        measure: figure(item.report, measure),
        "as_it_stands": figure(item.report, "pass_at_1_as_it_stands"),
        "same_outcome": pair.same_outcome,
        "lost": pair.lost,
        "gained": pair.gained,
        "difference": {
            "value": difference.value,
            "low": difference.interval.low,
            "high": difference.interval.high,
            "p_value": difference.p_value,
        },
        **asdict(item.speed),
        "peak_bytes": item.peak_bytes,
        "weights_bytes": item.weights_bytes,
    }


def _cases(measured: Sequence[Measured], measure: str) -> tuple[Case, ...]:
    """Named after their condition, so that two runs of this command pair alike conditions."""
    value = next(own.value for own in measured[0].report.measures if own.name == measure)
    return tuple(
        Case(
            f"{item.condition.label}/{case.id}",
            {"right": case.values[value]},
            item.condition.label,
            case.note,
        )
        for item in measured
        for case in item.report.cases
    )


def _table(measured: Sequence[Measured], pairs: Sequence[Paired], measure: str) -> Table:
    columns = (
        "condition", f"{measure} [95 %]", "as it stands", "difference [95 %]", "p (McNemar)", "same outcome",
        "lost", "gained", "prefill tok/s", "decode tok/s", "peak MiB", "weights MiB",
    )  # fmt: skip
    rows = tuple(_row(item, pair) for item, pair in zip(measured, pairs, strict=True))
    return Table(f"Precision, paired with {measured[0].condition.label}", columns, rows)


def _row(item: Measured, pair: Paired) -> tuple[str | float | None, ...]:
    difference, cases = pair.compared.difference, pair.compared.cases
    interval = share_interval(round(pair.compared.second * cases), cases)
    low, high = difference.interval.low, difference.interval.high
    return (
        item.condition.label,
        f"{pair.compared.second:.4f} [{interval.low:.3f}, {interval.high:.3f}]",
        figure(item.report, "pass_at_1_as_it_stands"),
        f"{difference.value:+.4f} [{low:+.4f}, {high:+.4f}]",
        difference.p_value,
        pair.same_outcome,
        pair.lost,
        pair.gained,
        _rounded(item.speed.prefill_tokens_per_s),
        _rounded(item.speed.decode_tokens_per_s),
        _mebibytes(item.peak_bytes),
        _mebibytes(item.weights_bytes),
    )


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 1)


def _mebibytes(value: int | None) -> float | None:
    return None if value is None else float(value >> 20)


def _plot(measured: Sequence[Measured], measure: str) -> Plot:
    labels = tuple(item.condition.label for item in measured)
    shares = tuple(figure(item.report, measure) or 0.0 for item in measured)
    return Plot(f"{measure} by condition", "bar", (Series(measure, labels, shares),), "", measure)
