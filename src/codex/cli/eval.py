"""`codex-cli eval`: table of contents of the evaluation commands, each in a file of its own in `evals/`."""

from __future__ import annotations

import click

from codex.cli.lazy import LazyGroup

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


@click.group("eval", cls=LazyGroup, lazy=COMMANDS)
def eval_() -> None:
    """Measure answers: code benchmarks, infilling, typing replay; compare two runs."""
