"""`codex-cli eval humaneval`."""

from __future__ import annotations

from typing import Any

import click

from codex.cli.evals.codegen import codegen_options, run_command
from codex.cli.evals.common import TargetChoice, run_options, target_options
from codex.evals.humaneval import humaneval_tasks


@click.command()
@codegen_options
@target_options
@run_options
def humaneval(**given: Any) -> None:
    """HumanEval: 164 functions from their docstrings, run against tests in the sandbox."""
    choice = TargetChoice.taken_from(given)
    loaded, tasks = humaneval_tasks(given["data"], plus=given["plus"])
    run_command("humaneval", loaded, tasks, choice, given)
