"""`codex-cli eval santacoder`."""

from __future__ import annotations

from typing import Any

import click

from codex.cli.evals.common import TargetChoice, run_options, target_options
from codex.cli.evals.fill import cleanup_option, run_command
from codex.evals.fill import FillOptions
from codex.evals.infilling import santacoder_tasks


@click.command()
@click.option(
    "--language", "languages", multiple=True, help="py, js or java; may be given again. Default: all."
)
@click.option("--max-tokens", type=click.IntRange(1), default=64, show_default=True)
@cleanup_option
@target_options
@run_options
def santacoder(languages: tuple[str, ...], max_tokens: int, cleanup: bool, **given: Any) -> None:
    """SantaCoder FIM: fill a line, judged by exact match of the first line with text."""
    choice = TargetChoice.taken_from(given)
    loaded, tasks = santacoder_tasks(given["data"], languages)
    options = FillOptions(True, cleanup, max_tokens, given["concurrency"])
    run_command("santacoder", loaded, tasks, choice, options, given)
