"""Two runs side by side, with intervals where their cases can be paired. Knows reports only."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from codex.errors import EvaluationError
from codex.evals.report import Case, Measure, Report, Table, figure
from codex.evals.stats import Difference, Ratio, binary_difference, mean_difference, ratio_difference


@dataclass(frozen=True, slots=True)
class Compared:
    """One measure over the cases that both runs have."""

    measure: Measure
    first: float
    second: float
    cases: int
    difference: Difference

    @property
    def verdict(self) -> str:
        """Of the second run: `better` or `worse` when the interval excludes zero."""
        interval = self.difference.interval
        if interval.low <= 0 <= interval.high:
            return "no difference shown"
        return "better" if (self.difference.value > 0) == self.measure.higher_is_better else "worse"


def compare(first: Report, second: Report) -> tuple[Compared, ...]:
    """Every measure that both runs know.

    Raises EvaluationError: different kinds of run, or no case in common.
    """
    if first.kind != second.kind:
        raise EvaluationError(f"a run of {first.kind} cannot be compared with one of {second.kind}")
    names = {measure.name for measure in second.measures}
    found = [
        _compared(measure, first, second)
        for measure in first.measures
        if measure.name in names and _paired(measure, first, second)
    ]
    if not found:
        raise EvaluationError("the two runs have no case in common: were they run on the same data?")
    return tuple(found)


def _paired(measure: Measure, first: Report, second: Report) -> list[tuple[Case, Case]]:
    keys = {measure.value} | ({measure.over} if measure.over else set())
    others = {case.id: case for case in second.cases if keys <= set(case.values)}
    return [(case, others[case.id]) for case in first.cases if keys <= set(case.values) and case.id in others]


def _compared(measure: Measure, first: Report, second: Report) -> Compared:
    pairs = _paired(measure, first, second)
    a = [case.values[measure.value] for case, _ in pairs]
    b = [case.values[measure.value] for _, case in pairs]
    if measure.kind == "ratio":
        assert measure.over is not None
        a_over = [case.values[measure.over] for case, _ in pairs]
        b_over = [case.values[measure.over] for _, case in pairs]
        difference = ratio_difference(Ratio(tuple(a), tuple(a_over)), Ratio(tuple(b), tuple(b_over)))
        return Compared(measure, _share(a, a_over), _share(b, b_over), len(pairs), difference)
    if measure.kind == "binary" and set(a) | set(b) <= {0.0, 1.0}:
        difference = binary_difference([value == 1 for value in a], [value == 1 for value in b])
    else:
        difference = mean_difference(a, b)
    return Compared(measure, math.fsum(a) / len(a), math.fsum(b) / len(b), len(pairs), difference)


def _share(values: list[float], over: list[float]) -> float:
    total = math.fsum(over)
    return math.fsum(values) / total if total else 0.0


def comparison_table(found: tuple[Compared, ...], names: tuple[str, str]) -> Table:
    """Side by side, the difference with its interval and what it says."""
    rows = tuple(
        (
            row.measure.name,
            round(row.first, 4),
            round(row.second, 4),
            _with_interval(row.difference),
            None if row.difference.p_value is None else round(row.difference.p_value, 4),
            row.cases,
            row.verdict,
        )
        for row in found
    )
    columns = ("measure", *names, "difference [95 %]", "p (McNemar)", "cases", "second run")
    return Table("Paired comparison", columns, rows)


def _with_interval(difference: Difference) -> str:
    interval = difference.interval
    return f"{difference.value:+.4f} [{interval.low:+.4f}, {interval.high:+.4f}]"


def figures_table(reports: Mapping[str, Report]) -> Table:
    """Every number of several runs side by side, as they stand in their reports."""
    names = list(dict.fromkeys(name for report in reports.values() for name in flat_figures(report)))
    rows = tuple((name, *(figure(report, name) for report in reports.values())) for name in names)
    return Table("Figures", ("figure", *reports), rows)


def flat_figures(report: Report) -> dict[str, float]:
    """Numbers of a report by their dotted names."""
    found: dict[str, float] = {}

    def walk(prefix: str, values: Mapping[str, object]) -> None:
        for name, value in values.items():
            if isinstance(value, Mapping):
                walk(f"{prefix}{name}.", value)
            elif isinstance(value, int | float) and not isinstance(value, bool):
                found[prefix + name] = value

    walk("", report.figures)
    return found


def configuration_changes(first: Report, second: Report) -> Table:
    """What was set differently in the two runs."""
    a, b = _flat_config("", first.config), _flat_config("", second.config)
    changed = [name for name in dict.fromkeys((*a, *b)) if a.get(name) != b.get(name)]
    rows = tuple((name, a.get(name), b.get(name)) for name in changed)
    return Table("Set differently", ("setting", "first", "second"), rows)


def _flat_config(prefix: str, values: Mapping[str, object]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            found |= _flat_config(f"{prefix}{name}.", value)
        else:
            found[prefix + name] = str(value)
    return found
