"""`codex-cli eval selfcheck`."""

from __future__ import annotations

import click

from codex.cli.evals.common import print_table
from codex.errors import EvaluationError
from codex.evals.report import Table
from codex.evals.run import progress_bar
from codex.evals.scoring import Scorer
from codex.evals.selfcheck import DATA_SETS, SelfCheck, programs, self_check


@click.command()
@click.option("--data-set", "names", type=click.Choice(DATA_SETS), multiple=True, help="Default: all.")
@click.option("--data", help="Folder of the data sets.")
@click.option("--every", type=click.IntRange(1), default=1, show_default=True, help="Each n-th task only.")
def selfcheck(names: tuple[str, ...], data: str | None, every: int) -> None:
    """Check the scorer: reference solutions must score 100 %, empty ones 0 %."""
    scorer = Scorer()
    found = []
    for name in names or DATA_SETS:
        runs = 2 * len(programs(name, data)[::every])
        with progress_bar(name, runs) as tick:
            found.append(self_check(name, data, scorer=scorer, every=every, tick=tick))
    print_table(_table(found))
    wrong = [check.data_set for check in found if not check.right]
    if wrong:
        raise EvaluationError(f"the scorer is wrong on {', '.join(wrong)}: its figures cannot be trusted")


def _table(found: list[SelfCheck]) -> Table:
    rows = tuple(
        (
            check.data_set,
            f"{check.total - len(check.failed)}/{check.total}",
            f"{len(check.passed_empty)}/{check.total}",
            "; ".join(f"{name} {why}" for name, why in check.failed),
        )
        for check in found
    )
    return Table("Scorer self-check", ("data set", "references passed", "empty passed", "not passed"), rows)
