"""The command line: this file is its table of contents, each command has a file of its own."""

from __future__ import annotations

import sys

import click

from codex._version import __version__
from codex.cli.lazy import LazyGroup
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


@click.group(cls=LazyGroup, lazy=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
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
