"""The command line: this file is its table of contents, each command has a file of its own."""

from __future__ import annotations

import sys
from importlib import import_module

import click

from codex._version import __version__
from codex.errors import CodexError

COMMANDS = {
    "serve": "codex.cli.serve:serve",
    "complete": "codex.cli.complete:complete",
    "chat": "codex.cli.chat:chat",
    "model": "codex.cli.model:model",
    "doctor": "codex.cli.doctor:doctor",
    "bench": "codex.cli.bench:bench",
    "eval": "codex.cli.eval:eval_",
}
"""Command name to `module:object`. A module is imported only when its command is asked for."""


class LazyGroup(click.Group):
    """Imports a command when it is needed, so that `codex-cli --version` stays instant."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name].partition(":")
        command: click.Command = getattr(import_module(module), name)
        return command


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="codex-cli")
def cli() -> None:
    """Serve, use, measure and improve a code model on your own machines."""


def main() -> None:
    """Entry point of `codex-cli`: our own errors become one clear line and exit status 1."""
    try:
        cli(standalone_mode=True)
    except CodexError as error:
        click.echo(f"codex-cli: {error}", err=True)
        sys.exit(1)
