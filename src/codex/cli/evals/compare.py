"""`codex-cli eval compare`."""

from __future__ import annotations

from pathlib import Path

import click

from codex.cli.evals.common import print_table
from codex.evals.compare import compare as compare_reports
from codex.evals.compare import comparison_table, configuration_changes, figures_table
from codex.evals.report import read_json

_REPORT = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command()
@click.argument("reports", type=_REPORT, nargs=-1, required=True)
def compare(reports: tuple[Path, ...]) -> None:
    """Put runs side by side: every figure, what was set differently, paired differences with intervals.

    Each further report is compared with the first one, case by case.
    """
    if len(reports) < 2:
        raise click.UsageError("give at least two reports, as --json wrote them")
    read = {_name(path, reports): read_json(path) for path in reports}
    (first_name, first), *others = read.items()
    for name, other in others:
        print_table(comparison_table(compare_reports(first, other), (first_name, name)))
        print_table(configuration_changes(first, other))
    print_table(figures_table(read))


def _name(path: Path, all_paths: tuple[Path, ...]) -> str:
    """The file's name, or its whole path where two have the same."""
    return path.stem if sum(other.stem == path.stem for other in all_paths) == 1 else str(path)
