"""Tables of a report as Markdown, ready for docs/benchmarks.md. Knows no benchmark."""

from __future__ import annotations

from codex.evals.report import Report, Table


def markdown(report: Report) -> str:
    return "\n\n".join(table_markdown(table) for table in report.tables)


def table_markdown(table: Table) -> str:
    """Numbers are rounded to what was measured; an empty cell is something that was not."""
    head = f"| {' | '.join(table.columns)} |"
    rule = f"|{'|'.join('---' if number == 0 else '---:' for number in range(len(table.columns)))}|"
    rows = [f"| {' | '.join(map(_cell, row))} |" for row in table.rows]
    return "\n".join((f"**{table.title}**", "", head, rule, *rows))


def _cell(value: str | float | None) -> str:
    if value is None:
        return "-"
    if isinstance(value, str):
        return value
    if isinstance(value, int) or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3f}" if abs(value) < 2 else f"{value:.1f}"
