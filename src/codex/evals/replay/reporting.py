"""A replay's rows as a report: figures, cases for paired comparison, tables and plots. Knows no server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from codex.evals.replay.metrics import summary
from codex.evals.replay.rows import EditRow
from codex.evals.replay.run import ReplayResult
from codex.evals.report import Case, JsonValue, Measure, Plot, Report, Series, Table

MEASURES = (
    Measure("characters_saved_share", "ratio", "saved", "characters"),
    Measure("partial_saved_share", "ratio", "partial_saved", "characters"),
    Measure("shown_rate", "ratio", "shown", "fired"),
    Measure("acceptance_rate", "ratio", "accepted", "shown"),
    Measure("exact_match", "ratio", "lines_exact", "lines_asked"),
    Measure("cancelled_share", "ratio", "cancelled", "fired", higher_is_better=False),
)
_ROWS = (
    ("characters typed", "characters_typed", "{:,.0f}"),
    ("characters saved", "characters_saved_share", "{:.1%}"),
    ("saved on top by taking words", "partial_saved_share", "{:.1%}"),
    ("shown rate", "shown_rate", "{:.1%}"),
    ("acceptance rate", "acceptance_rate", "{:.1%}"),
    ("exact match of the line", "exact_match", "{:.1%}"),
    ("latency to visible p50, ms", "latency_ms.p50", "{:.0f}"),
    ("latency to visible p95, ms", "latency_ms.p95", "{:.0f}"),
    ("latency to visible p99, ms", "latency_ms.p99", "{:.0f}"),
    ("latency of all requests p50, ms", "latency_all_ms.p50", "{:.0f}"),
    ("answered within 50 ms", "answered_within_50_ms_share", "{:.1%}"),
    ("answered within 100 ms", "answered_within_100_ms_share", "{:.1%}"),
    ("engine tokens per accepted character", "engine_tokens_per_accepted_character", "{:.1f}"),
    ("requests fired", "requests_fired", "{:,.0f}"),
    ("requests cancelled", "requests_cancelled", "{:,.0f}"),
    ("of these not sent", "requests_not_sent", "{:,.0f}"),
    ("requests failed", "requests_failed", "{:,.0f}"),
)


def report_of(result: ReplayResult, config: Mapping[str, JsonValue]) -> Report:
    """The report of a run. `config` is everything that is needed to run it again."""
    return Report(
        kind="replay",
        figures=result.figures,
        config=config,
        cases=tuple(_case(row) for row in result.rows),
        measures=MEASURES,
        tables=(_overall(result.rows), _groups("language", result.rows), _groups("path", result.rows)),
        plots=_plots(result.rows),
    )


def _case(row: EditRow) -> Case:
    names: tuple[str, ...] = (
        "characters",
        "saved",
        "accepted_characters",
        "partial_saved",
        "fired",
        "answered",
        "failed",
    )
    names += (
        "shown",
        "accepted",
        "lines",
        "lines_asked",
        "lines_exact",
        "prompt_tokens",
        "completion_tokens",
    )
    values = {name: float(getattr(row, name)) for name in names}
    return Case(row.id, values | {"cancelled": float(row.superseded + row.not_sent)}, group=row.language)


def _overall(rows: tuple[EditRow, ...]) -> Table:
    figures = summary(rows)
    shown = tuple((title, _shown(figures, name, form)) for title, name, form in _ROWS)
    return Table(f"Typing replay, {len(rows)} edits", ("", "value"), shown)


def _groups(field: str, rows: tuple[EditRow, ...]) -> Table:
    groups: dict[str, list[EditRow]] = {}
    for row in rows:
        groups.setdefault(str(getattr(row, field)), []).append(row)
    named = {"language": "By language", "path": "By file"}[field]
    return Table(
        named,
        (field, "edits", "characters", "saved", "shown", "accepted", "exact match", "latency p50, ms"),
        tuple(_group_row(name, summary(groups[name])) for name in sorted(groups)),
    )


def _group_row(name: str, figures: Mapping[str, JsonValue]) -> tuple[str | float | None, ...]:
    forms = (
        ("edits", "{:.0f}"),
        ("characters_typed", "{:,.0f}"),
        ("characters_saved_share", "{:.1%}"),
        ("shown_rate", "{:.1%}"),
        ("acceptance_rate", "{:.1%}"),
        ("exact_match", "{:.1%}"),
        ("latency_ms.p50", "{:.0f}"),
    )
    return (name, *(_shown(figures, key, form) for key, form in forms))


def _shown(figures: Mapping[str, JsonValue], name: str, form: str) -> str:
    found: JsonValue = cast(JsonValue, dict(figures))
    for part in name.split("."):
        found = found.get(part) if isinstance(found, dict) else None
    return form.format(found) if isinstance(found, int | float) else "–"


def _plots(rows: tuple[EditRow, ...]) -> tuple[Plot, ...]:
    visible = tuple(ms for row in rows for ms in row.visible_ms)
    shares = tuple(row.saved / row.characters for row in rows if row.characters)
    done, saved, typed = [], 0, 0
    for row in rows:
        saved, typed = saved + row.saved, typed + row.characters
        done.append(saved / typed if typed else 0.0)
    steps = tuple(float(number + 1) for number in range(len(rows)))
    return (
        Plot("Latency to visible", "histogram", (Series("shown", (), visible),), "ms", "suggestions"),
        Plot("Characters saved by edit", "histogram", (Series("edits", (), shares),), "share", "edits"),
        Plot("Characters saved so far", "line", (Series("share", steps, tuple(done)),), "edits", "share"),
    )


def markdown(table: Table) -> str:
    """A table as Markdown."""
    rows = [table.columns, tuple("---" for _ in table.columns), *table.rows]
    lines = ("| " + " | ".join("–" if cell is None else str(cell) for cell in row) + " |" for row in rows)
    return f"**{table.title}**\n\n" + "\n".join(lines)
