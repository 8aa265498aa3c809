"""`codex-cli eval infilling`."""

from __future__ import annotations

from typing import Any

import click

from codex.cli.evals.common import TargetChoice, run_options, target_options
from codex.cli.evals.fill import cleanup_option, run_command
from codex.evals.fill import FillOptions
from codex.evals.infilling import SPLITS, infilling_tasks


@click.command()
@click.option("--split", type=click.Choice(list(SPLITS)), default="single-line", show_default=True)
@click.option("--max-tokens", type=click.IntRange(1), default=128, show_default=True)
@cleanup_option
@target_options
@run_options
def infilling(split: str, max_tokens: int, cleanup: bool, **given: Any) -> None:
    """HumanEval-infilling: fill a line or a span, judged by tests in the sandbox."""
    choice = TargetChoice.taken_from(given)
    loaded, tasks = infilling_tasks(split, given["data"])
    options = FillOptions(split == "single-line", cleanup, max_tokens, given["concurrency"])
    run_command("infilling", loaded, tasks, choice, options, given)
