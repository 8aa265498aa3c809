"""What `eval humaneval` and `eval mbpp` share: options and the run. Knows no data set."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import anyio
import click

from codex.cli.evals.common import TargetChoice, hand_over, run_config
from codex.engine.mock import ByteTokenizer
from codex.evals.begun import served_tokenizer
from codex.evals.codegen import CodegenOptions, answer_settings, codegen_report, run_codegen
from codex.evals.data import Loaded
from codex.evals.journal import Journal, default_path
from codex.evals.report import Report
from codex.evals.run import progress_bar
from codex.evals.scoring import Scorer
from codex.evals.target import Target
from codex.evals.tasks import CodeTask, spread
from codex.types import Tokenizer

F = TypeVar("F", bound=Callable[..., Any])


def codegen_options(command: F) -> F:
    """How answers are asked for."""
    options = (
        click.option(
            "--plus", is_flag=True, help="EvalPlus's base and plus inputs instead of the own tests."
        ),
        click.option(
            "--prompt",
            type=click.Choice(["begun", "chat", "completion"]),
            default="begun",
            show_default=True,
            help="A conversation whose answer we begin with the function's head; a plain one; raw text.",
        ),
        click.option(
            "--samples", type=click.IntRange(1), default=1, show_default=True, help="Answers a task."
        ),
        click.option("--temperature", type=float, default=0.0, show_default=True),
        click.option("--top-p", type=float, default=1.0, show_default=True),
        click.option("--max-tokens", type=click.IntRange(1), default=512, show_default=True),
        click.option("--seed", type=int, default=0, show_default=True),
    )
    for option in reversed(options):
        command = option(command)
    return command


def run_command(
    kind: str, loaded: Loaded, tasks: Sequence[CodeTask], choice: TargetChoice, given: dict[str, Any]
) -> None:
    """Runs and hands the report over. `given` holds the options of `codegen_options` and `run_options`."""
    names = ("prompt", "samples", "temperature", "top_p", "max_tokens", "seed", "concurrency")
    options = CodegenOptions(**{name: given[name] for name in names})
    chosen = spread(tasks, given["limit"])
    with choice.served(options.concurrency) as target:
        report = anyio.run(_run, kind, loaded, chosen, choice, target, options, given)
    hand_over(report, given["json_file"], given["html_file"])


async def _run(
    kind: str,
    loaded: Loaded,
    tasks: Sequence[CodeTask],
    choice: TargetChoice,
    target: Target,
    options: CodegenOptions,
    given: dict[str, Any],
) -> Report:
    scorer = Scorer()
    async with target:
        entry = await target.describe()
        tokenizer = _tokenizer(choice, target.model) if options.prompt == "begun" else None
        who = choice.config(entry, options.concurrency)
        settings = answer_settings(loaded.name, options)
        identity = {**settings, "data": loaded.sha256, "plus": given["plus"], "target": who}
        path: Path = given["answers"] or default_path(kind, identity)
        click.echo(f"answers: {path}", err=True)
        started = time.monotonic()
        with (
            Journal(path, identity, resume=given["resume"]) as journal,
            progress_bar(kind, len(tasks) * options.samples) as tick,
        ):
            records = await run_codegen(
                tasks, target, scorer, journal, options, tokenizer=tokenizer, tick=tick
            )
        seconds = time.monotonic() - started
    config = run_config(
        settings | {"concurrency": options.concurrency, "limit": given["limit"]},
        who,
        {"name": loaded.name, "sha256": loaded.sha256},
    )
    return codegen_report(kind, tasks, records, options, config, seconds)


def _tokenizer(choice: TargetChoice, model: str) -> Tokenizer | None:
    """Ours is needed for our own server only; a peer reads special tokens in text."""
    if choice.fim == "template":
        return None
    settings = choice.settings(1)
    if choice.url is None and settings.backend == "mock":
        return ByteTokenizer()
    return served_tokenizer(model, settings.models_dir)
