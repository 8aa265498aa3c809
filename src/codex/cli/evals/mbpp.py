"""`codex-cli eval mbpp`."""

from __future__ import annotations

from typing import Any

import click

from codex.cli.evals.codegen import codegen_options, run_command
from codex.cli.evals.common import TargetChoice, run_options, target_options
from codex.evals.mbpp import mbpp_tasks


@click.command()
@codegen_options
@target_options
@run_options
def mbpp(**given: Any) -> None:
    """MBPP: 427 sanitized tasks, or with --plus the 378 of MBPP+, run in the sandbox."""
    choice = TargetChoice.taken_from(given)
    loaded, tasks = mbpp_tasks(given["data"], plus=given["plus"])
    run_command("mbpp", loaded, tasks, choice, given)
