"""Reports: to JSON and back, side by side with intervals, as a page."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path

import pytest

from codex.errors import EvaluationError
from codex.evals.compare import compare, comparison_table, configuration_changes, figures_table
from codex.evals.html import render_html
from codex.evals.report import (
    Case,
    Measure,
    Plot,
    Report,
    Series,
    Table,
    figure,
    machine_config,
    read_json,
    to_json,
    write_json,
)

MEASURES = (
    Measure("pass_at_1", "binary", "passed"),
    Measure("latency_ms", "mean", "ms", higher_is_better=False),
    Measure("saved_share", "ratio", "saved", "typed"),
)


def report(passed: list[int], *, ms: float = 10.0, kind: str = "humaneval", name: str = "a") -> Report:
    cases = tuple(
        Case(f"T/{number}", {"passed": float(right), "ms": ms + number, "saved": 1.0 + right, "typed": 4.0})
        for number, right in enumerate(passed)
    )
    return Report(
        kind,
        {"pass_at_1": sum(passed) / len(passed), "latency_ms": {"p50": ms}},
        {"run": {"name": name, "seed": 0}, "machine": machine_config()},
        cases,
        MEASURES,
        (Table("By <language>", ("language", "share"), (("py", 0.5), ("js", None))),),
        (
            Plot("Latency", "histogram", (Series("ms", (), (1.0, 2.0)),)),
            Plot("Shares", "bar", (Series("x", ("a", "b"), (1.0, 2.0)), Series("y", ("a", "b"), (2.0, 1.0)))),
            Plot("Curve", "line", (Series("x", (1.0, 2.0), (1.0, 2.0)),)),
        ),
    )


def test_json_holds_figures_on_top_and_reads_back_equal(tmp_path: Path) -> None:
    first = report([1, 0, 1])
    write_json(first, tmp_path / "deep" / "a.json")
    body = json.loads((tmp_path / "deep" / "a.json").read_text())
    assert body["pass_at_1"] == pytest.approx(2 / 3)
    assert body["latency_ms"]["p50"] == 10.0
    assert body["config"]["machine"]["packages"]["codex-server"]
    assert read_json(tmp_path / "deep" / "a.json") == first
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["a.json"]


def test_a_figure_cannot_hide_a_part_of_the_report() -> None:
    with pytest.raises(EvaluationError, match="cases"):
        to_json(Report("x", {"cases": 1}, {}))


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"schema": 1}', '{"schema": 99, "kind": "x"}'])
def test_what_is_no_report_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(EvaluationError, match=r"x\.json"):
        read_json(tmp_path / "x.json")


def test_figures_are_found_by_dotted_names() -> None:
    assert figure(report([1]), "latency_ms.p50") == 10.0
    assert figure(report([1]), "latency_ms.p99") is None
    assert figure(report([1]), "nothing.at.all") is None


def test_compare_pairs_cases_and_says_what_is_shown() -> None:
    first, second = report([1] * 10 + [0] * 30), report([1] * 30 + [0] * 10, ms=12.0)
    binary, mean, ratio = compare(first, second)
    assert (binary.first, binary.second, binary.cases) == (0.25, 0.75, 40)
    assert binary.difference.p_value is not None
    assert binary.difference.p_value < 1e-5
    assert (binary.verdict, mean.verdict, ratio.verdict) == ("better", "worse", "better")
    assert mean.difference.value == pytest.approx(2.0)
    assert ratio.difference.value == pytest.approx(0.125)


def test_compare_of_equal_runs_shows_nothing() -> None:
    assert {row.verdict for row in compare(report([1, 0, 1]), report([1, 0, 1]))} == {"no difference shown"}


def test_compare_uses_common_cases_only() -> None:
    assert {row.cases for row in compare(report([1] * 10), report([1] * 6))} == {6}


def test_compare_refuses_what_cannot_be_compared() -> None:
    with pytest.raises(EvaluationError, match="cannot be compared"):
        compare(report([1]), report([1], kind="mbpp"))
    with pytest.raises(EvaluationError, match="no case in common"):
        compare(report([1]), Report("humaneval", {}, {}, (Case("other", {"passed": 1.0}),), MEASURES))


def test_tables_stand_side_by_side() -> None:
    first, second = report([1, 0]), report([1, 1], name="b")
    shown = comparison_table(compare(first, second), ("old", "new"))
    assert shown.columns[:3] == ("measure", "old", "new")
    assert shown.rows[0][:3] == ("pass_at_1", 0.5, 1.0)
    assert figures_table({"old": first, "new": second}).rows == (
        ("pass_at_1", 0.5, 1.0),
        ("latency_ms.p50", 10.0, 10.0),
    )
    assert configuration_changes(first, second).rows == (("run.name", "a", "b"),)


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.counts: dict[str, int] = {}
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.counts[tag] = self.counts.get(tag, 0) + 1
        self.addresses += [value for name, value in attrs if name in {"src", "href"} and value]


def test_the_page_holds_everything_and_needs_nothing() -> None:
    noted = Report("humaneval", {}, {}, (Case("T/0", {"passed": 1.0}, note="<script>alert(1)</script>"),))
    page = _Page()
    text = render_html(report([1, 0, 1]))
    page.feed(text)
    assert page.counts["svg"] == 3
    assert all(address.startswith("#") for address in page.addresses)
    assert "script" not in page.counts
    assert "By &lt;language&gt;" in text
    assert "&lt;script&gt;" in render_html(noted)
