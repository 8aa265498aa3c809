"""`codex-cli eval html`."""

from __future__ import annotations

from pathlib import Path

import click

from codex.evals.html import write_html
from codex.evals.report import read_json


@click.command()
@click.argument("report", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Default: beside it.")
def html(report: Path, output: Path | None) -> None:
    """Draw a report as one HTML page that needs nothing else."""
    place = output or report.with_suffix(".html")
    write_html(read_json(report), place)
    click.echo(str(place))
