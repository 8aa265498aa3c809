"""What `eval infilling` and `eval santacoder` share: options and the run. Knows no data set."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
import click

from codex.cli.evals.common import TargetChoice, hand_over, run_config
from codex.evals.data import Loaded
from codex.evals.fill import FillOptions, answer_settings, fill_report, run_fill
from codex.evals.journal import Journal, default_path
from codex.evals.report import Report
from codex.evals.run import progress_bar
from codex.evals.scoring import Scorer
from codex.evals.target import Target
from codex.evals.tasks import FillTask, spread

cleanup_option = click.option(
    "--cleanup/--no-cleanup", default=True, show_default=True, help="Our server's answer passes."
)


def run_command(
    kind: str,
    loaded: Loaded,
    tasks: Sequence[FillTask],
    choice: TargetChoice,
    options: FillOptions,
    given: dict[str, Any],
) -> None:
    """Runs and hands the report over. `given` holds the options of `run_options`."""
    chosen = spread(tasks, given["limit"])
    with choice.served(options.concurrency) as target:
        report = anyio.run(_run, kind, loaded, chosen, choice, target, options, given)
    hand_over(report, given["json_file"], given["html_file"])


async def _run(
    kind: str,
    loaded: Loaded,
    tasks: Sequence[FillTask],
    choice: TargetChoice,
    target: Target,
    options: FillOptions,
    given: dict[str, Any],
) -> Report:
    scorer = Scorer() if any(task.parts for task in tasks) else None
    async with target:
        entry = await target.describe()
        who = choice.config(entry, options.concurrency)
        settings = answer_settings(loaded.name, options)
        identity = {**settings, "data": loaded.sha256, "target": who}
        path: Path = given["answers"] or default_path(kind, identity)
        click.echo(f"answers: {path}", err=True)
        started = time.monotonic()
        with (
            Journal(path, identity, resume=given["resume"]) as journal,
            progress_bar(kind, len(tasks)) as tick,
        ):
            records = await run_fill(tasks, target, scorer, journal, options, tick=tick)
        seconds = time.monotonic() - started
    config = run_config(
        settings | {"concurrency": options.concurrency, "limit": given["limit"]},
        who,
        {"name": loaded.name, "sha256": loaded.sha256},
    )
    return fill_report(kind, tasks, records, config, seconds)
