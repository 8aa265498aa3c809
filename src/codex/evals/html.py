"""One self-contained HTML page of a report. Knows no evaluation: tables and plots are data by now."""

from __future__ import annotations

import io
from importlib.resources import files
from pathlib import Path

from jinja2 import Environment
from markupsafe import Markup
from matplotlib import rc_context
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from codex.evals.compare import flat_figures
from codex.evals.report import Case, Plot, Report

MAX_CASES = 2_000
"""Rows of the page's table of cases; the JSON holds them all."""


def write_html(report: Report, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(render_html(report))


def render_html(report: Report) -> str:
    """The page: figures, tables, plots, cases, configuration, and the JSON to take away."""
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string(files("codex.evals").joinpath("report.html").read_text())
    cases = report.cases[:MAX_CASES]
    return template.render(
        report=report,
        figures=flat_figures(report),
        plots=[(plot.title, Markup(_svg(plot))) for plot in report.plots],
        cases=cases,
        columns=_columns(cases),
        left_out=len(report.cases) - len(cases),
        config=_lines(report),
    )


def _columns(cases: tuple[Case, ...]) -> list[str]:
    return list(dict.fromkeys(name for case in cases for name in case.values))


def _lines(report: Report) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []

    def walk(prefix: str, value: object) -> None:
        if isinstance(value, dict):
            for name, inner in value.items():
                walk(f"{prefix}.{name}" if prefix else str(name), inner)
        else:
            found.append((prefix, str(value)))

    walk("", dict(report.config))
    return found


def _svg(plot: Plot) -> str:
    """matplotlib without pyplot: no global state, no window."""
    figure = Figure(figsize=(7.5, 3.6), layout="constrained")
    axes = figure.add_subplot()
    for number, series in enumerate(plot.series):
        if plot.kind == "line":
            axes.plot(list(series.x), list(series.y), marker="o", markersize=3, label=series.name)
        elif plot.kind == "bar":
            width = 0.8 / len(plot.series)
            places = [index + number * width for index in range(len(series.x))]
            axes.bar(places, list(series.y), width, label=series.name)
            axes.set_xticks(range(len(series.x)), [str(label) for label in series.x], rotation=30, ha="right")
        else:
            axes.hist(list(series.y), bins=40, alpha=0.6, label=series.name)
    axes.set_xlabel(plot.x_label)
    axes.set_ylabel(plot.y_label)
    axes.grid(alpha=0.3)
    if len(plot.series) > 1:
        axes.legend()
    written = io.StringIO()
    with rc_context({"svg.hashsalt": "codex"}):  # the same report gives the same page
        FigureCanvasSVG(figure).print_svg(written, metadata={"Date": None})  # type: ignore[no-untyped-call]
    return written.getvalue().partition("<svg")[1] + written.getvalue().partition("<svg")[2]
