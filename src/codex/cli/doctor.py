"""`codex-cli doctor`: runs the checks, explains known troubles. Looks, changes nothing."""

from __future__ import annotations

import json
from dataclasses import asdict

import click
from pydantic import ValidationError
from rich.console import Console
from rich.markup import escape

from codex.cli.checks import Check, Diagnosis, State
from codex.cli.checks.topics import TOPICS, Topic
from codex.settings import Settings

_MARKS = {
    State.OK: "[green]ok[/green]     ",
    State.WARNING: "[yellow]warning[/yellow]",
    State.BROKEN: "[red]broken[/red] ",
}


@click.command()
@click.argument("topic", required=False, type=click.Choice(list(TOPICS)))
@click.option(
    "--port", type=click.IntRange(0, 65535), help="Port of the server. [default: CODEX_PORT or 8080]"
)
@click.option("--json", "as_json", is_flag=True, help="Print the checks as a JSON list.")
def doctor(topic: str | None, port: int | None, as_json: bool) -> None:
    """Look for what keeps this machine from serving; with TOPIC, explain a known trouble.

    Exit status 1 when something is broken; a warning only slows things down.
    """
    if topic is not None:
        _explain(TOPICS[topic])
        return
    diagnoses = examine(port)
    if as_json:
        click.echo(json.dumps([asdict(each) for each in diagnoses], indent=1))
    else:
        _show(diagnoses)
    if any(each.state is State.BROKEN for each in diagnoses):
        raise SystemExit(1)


def examine(port: int | None) -> list[Diagnosis]:
    """All checks, or only the one that failed first when the settings cannot be read at all."""
    try:
        settings = Settings() if port is None else Settings(port=port)
    except ValidationError as error:
        found = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors())
        return [Diagnosis("settings", State.BROKEN, found, "correct these environment variables")]
    return [check(settings) for check in checks()]


def checks() -> tuple[Check, ...]:
    """In the order in which one thing depends on another."""
    from codex.cli.checks import machine, model, network

    return (
        machine.python,
        machine.libraries,
        machine.processor,
        machine.memory,
        machine.disk,
        model.prepared,
        network.proxies,
        network.server,
    )


def _show(diagnoses: list[Diagnosis]) -> None:
    console = Console(soft_wrap=True, highlight=False)
    for each in diagnoses:
        console.print(f"{_MARKS[each.state]} {each.name}: {escape(each.found)}")
        if each.fix:
            console.print(f"        fix: {escape(each.fix)}")
    console.print(f"\nKnown troubles: codex-cli doctor {escape('|'.join(TOPICS))}")


def _explain(topic: Topic) -> None:
    click.echo(f"{topic.symptom}\n")
    for remedy in topic.remedies:
        click.echo(f"- {remedy.cause}\n  {remedy.fix}")
