"""`codex-cli eval`: table of contents of the evaluation commands, each in a file of its own in `evals/`."""

from __future__ import annotations

from importlib import import_module

import click

COMMANDS = {
    "humaneval": "codex.cli.evals.humaneval:humaneval",
    "mbpp": "codex.cli.evals.mbpp:mbpp",
    "infilling": "codex.cli.evals.infilling:infilling",
    "santacoder": "codex.cli.evals.santacoder:santacoder",
    "selfcheck": "codex.cli.evals.selfcheck:selfcheck",
    "replay": "codex.cli.evals.replay:replay_",
    "long-context": "codex.cli.evals.long_context:long_context",
    "precision": "codex.cli.evals.precision:precision",
    "compare": "codex.cli.evals.compare:compare",
    "html": "codex.cli.evals.html:html",
}
"""Command name to `module:object`. A module is imported only when its command is asked for."""


class LazyCommands(click.Group):
    """Imports a command when it is needed: scipy and matplotlib are no business of `--help`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name].partition(":")
        command: click.Command = getattr(import_module(module), name)
        return command


@click.group("eval", cls=LazyCommands)
def eval_() -> None:
    """Measure answers: code benchmarks, infilling, typing replay; compare two runs."""
