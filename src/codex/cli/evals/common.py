"""What the evaluation commands share: options, the target, the report's ways out. Knows no benchmark."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click
from rich.console import Console
from rich.table import Table as RichTable

from codex.evals.compare import flat_figures
from codex.evals.local_server import local_server
from codex.evals.report import JsonValue, Report, Table, machine_config, write_json
from codex.evals.target import FimStyle, Target
from codex.settings import Settings

_NO_INFLUENCE = {"host", "port", "models_dir", "log_level"}
"""Settings that change no answer and no time; a place on one machine says nothing on another."""

F = TypeVar("F", bound=Callable[..., Any])

FILE = click.Path(dir_okay=False, path_type=Path)


def target_options(command: F) -> F:
    """Which server is measured."""
    options = (
        click.option("--url", help="An OpenAI-compatible server; without it ours is started for the run."),
        click.option("--model", help="With --url: the model's name there. Else: the model to serve."),
        click.option(
            "--fim",
            type=click.Choice(["suffix", "template"]),
            default="suffix",
            show_default=True,
            help="How the server takes a gap: the field `suffix`, or special tokens in the prompt.",
        ),
        click.option("--api-key", default="none", help="For --url."),
        click.option("--backend", type=click.Choice(["openvino", "mock"]), help="Of the server we start."),
        click.option(
            "--quant-mode",
            type=click.Choice(["disable", "fp16", "int8", "int4"]),
            help="Of the server we start.",
        ),
    )
    return _decorated(command, options)


def run_options(command: F) -> F:
    """How much, how fast, and where results go."""
    options = (
        click.option("--data", help="Folder, file or URL of the data set (URL#sha256=…)."),
        click.option("--limit", type=click.IntRange(1), help="So many tasks, evenly spread."),
        click.option("--concurrency", type=click.IntRange(1), default=16, show_default=True),
        click.option("--answers", type=FILE, help="Where answers are kept as they come (JSON lines)."),
        click.option("--resume", is_flag=True, help="Go on with the answers of an interrupted run."),
    )
    return output_options(_decorated(command, options))


def output_options(command: F) -> F:
    options = (
        click.option("--json", "json_file", type=FILE, help="Write the report here."),
        click.option("--html", "html_file", type=FILE, help="Write it as a page here."),
    )
    return _decorated(command, options)


def _decorated(command: F, options: tuple[Callable[[F], F], ...]) -> F:
    for option in reversed(options):
        command = option(command)
    return command


@dataclass(frozen=True, slots=True)
class TargetChoice:
    """What `target_options` were given."""

    url: str | None
    model: str | None
    fim: FimStyle
    api_key: str
    backend: str | None
    quant_mode: str | None

    @classmethod
    def taken_from(cls, options: dict[str, Any]) -> TargetChoice:
        """Takes its own out of a command's options."""
        return cls(**{name: options.pop(name) for name in cls.__slots__})

    def settings(self, concurrency: int) -> Settings:
        """Settings of the server we start: the user's own, with room for the run."""
        own = {"model": self.model, "backend": self.backend, "quant_mode": self.quant_mode}
        base = Settings()
        room = {"max_concurrent": max(base.max_concurrent, concurrency)}
        return Settings.model_validate(
            base.model_dump() | room | {name: value for name, value in own.items() if value is not None}
        )

    @contextmanager
    def served(self, concurrency: int) -> Iterator[Target]:
        """The target, not opened yet; our own server runs as long as the block."""
        if self.url is not None:
            yield Target(self.url, self.model, fim=self.fim, api_key=self.api_key)
            return
        with local_server(self.settings(concurrency)) as url:
            yield Target(url, fim=self.fim)

    def config(self, entry: Mapping[str, Any], concurrency: int) -> dict[str, JsonValue]:
        """For the report: who answered. `entry` is the server's own word on its model."""
        # `created` is when the server started: it would make every run another configuration.
        model = {name: value for name, value in entry.items() if name != "created"}
        config: dict[str, JsonValue] = {"model": model, "fim": self.fim}
        if self.url is not None:
            return config | {"url": self.url}
        settings = self.settings(concurrency).model_dump(mode="json", exclude=_NO_INFLUENCE)
        return config | {"url": "started for this run", "settings": settings}


def run_config(answers: Mapping[str, JsonValue], target: JsonValue, data: JsonValue) -> dict[str, JsonValue]:
    """Everything that is needed to run it again."""
    return {"run": dict(answers), "target": target, "data": data, "machine": machine_config()}


def hand_over(report: Report, json_file: Path | None, html_file: Path | None) -> None:
    """Figures and tables to the terminal, the report to its files."""
    figures = tuple(flat_figures(report).items())
    print_table(Table(report.kind, ("figure", "value"), figures))
    for table in report.tables:
        print_table(table)
    if json_file is not None:
        write_json(report, json_file)
    if html_file is not None:
        from codex.evals.html import write_html

        write_html(report, html_file)


def print_table(table: Table) -> None:
    shown = RichTable(title=table.title, title_justify="left")
    for column in table.columns:
        shown.add_column(column, overflow="fold")
    for row in table.rows:
        shown.add_row(*(_cell(value) for value in row))
    Console().print(shown)


def _cell(value: str | float | None) -> str:
    if value is None:
        return ""
    return f"{value:.4f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
