"""`codex-cli model`: list, pull, verify and remove models. Knows the terminal only."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeVar, get_args

import click
from rich.console import Console
from rich.table import Column, Table

from codex.engine.models import CATALOGUE, Progress, list_prepared, prepare, remove, verify
from codex.errors import ModelCorrupt, UnknownModel
from codex.serve.progress import TerminalProgress
from codex.settings import QuantMode, Settings

FC = TypeVar("FC", bound=Callable[..., object])

_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")


def _quant_option(help_text: str) -> Callable[[FC], FC]:
    return click.option("--quant-mode", type=click.Choice(get_args(QuantMode)), help=help_text)


@dataclass(frozen=True, slots=True)
class _Row:
    """A line of `list`: a model in one precision, or one of the catalogue that is not prepared."""

    name: str
    quant: str
    state: str
    bytes: int
    licence: str
    path: str
    detail: str


@click.group()
def model() -> None:
    """Models by name: which there are, which are ready on this machine."""


@model.command("list")
@_json_option
def list_(as_json: bool) -> None:
    """Show the models of the catalogue and what is prepared of them."""
    settings = Settings()
    rows = _rows(settings.models_dir)
    if as_json:
        click.echo(json.dumps([asdict(row) for row in rows], indent=2))
        return
    table = Table(Column("model", no_wrap=True), "precision", "state", "size", "licence", "about")
    for row in rows:
        table.add_row(row.name, row.quant, row.state, _size(row.bytes), row.licence, row.detail)
    Console().print(table)
    click.echo(f"prepared models lie in {settings.models_dir}")


def _rows(models_dir: Path) -> list[_Row]:
    ready = [
        _Row(
            each.model.name,
            each.model.quant,
            "damaged" if each.problem else "ready",
            each.bytes,
            each.licence,
            str(each.model.path),
            each.problem or _about(each.model.name),
        )
        for each in list_prepared(models_dir)
    ]
    names = {row.name for row in ready}
    others = [
        _Row(entry.name, "", "not prepared", entry.bytes, entry.licence, "", entry.description)
        for entry in CATALOGUE.values()
        if entry.name not in names
    ]
    return ready + others


def _about(name: str) -> str:
    return CATALOGUE[name].description if name in CATALOGUE else "prepared from a file"


@model.command()
@click.argument("name", required=False)
@_quant_option("Precision to prepare. [default: that of the settings]")
@_json_option
def pull(name: str | None, quant_mode: QuantMode | None, as_json: bool) -> None:
    """Download NAME (default: the served model), check it, prepare it for the engine.

    NAME may be a GGUF file too. A pull that was interrupted goes on where it stopped. The catalogue's
    weights are Q4_K_M files: with fp16 they are computed in 16 bits, but stay as exact as that file is.
    """
    settings = Settings()
    with TerminalProgress() as progress:
        prepared = prepare(
            name or settings.model,
            models_dir=settings.models_dir,
            quant=quant_mode or settings.quant_mode,
            progress=progress,
        )
    facts = {key: str(value) for key, value in asdict(prepared).items()}
    click.echo(
        json.dumps(facts) if as_json else f"{prepared.name} ({prepared.quant}) is ready: {prepared.path}"
    )


@model.command("verify")
@click.argument("names", nargs=-1)
@_json_option
def verify_(names: tuple[str, ...], as_json: bool) -> None:
    """Read every byte of NAMES (default: all that is prepared) and compare with the digests.

    Exit status 1 when something is damaged; its line says which file, with both digests.
    """
    models_dir = Settings().models_dir
    wanted = names or tuple(each.model.path.name for each in list_prepared(models_dir))
    with TerminalProgress() as progress:
        problems = {name: _problem(name, models_dir, progress) for name in wanted}
    if as_json:
        click.echo(json.dumps(problems, indent=2))
    else:
        for name, problem in problems.items():
            click.echo(f"{name}: {problem or 'as it should be'}")
    if any(problems.values()):
        sys.exit(1)


def _problem(name: str, models_dir: Path, progress: Progress) -> str:
    """Empty when all is well."""
    try:
        verify(name, models_dir=models_dir, progress=progress)
    except (ModelCorrupt, UnknownModel) as error:
        return str(error)
    return ""


@model.command("remove")
@click.argument("name")
@_quant_option("Remove this precision only, and keep the weights. [default: all of them]")
@_json_option
def remove_(name: str, quant_mode: QuantMode | None, as_json: bool) -> None:
    """Remove what is prepared of NAME, and its downloaded weights."""
    freed = remove(name, models_dir=Settings().models_dir, quant=quant_mode)
    click.echo(json.dumps({"freed_bytes": freed}) if as_json else f"{name} removed, {_size(freed)} freed")


def _size(count: int) -> str:
    return f"{count / 1e9:.2f} GB" if count >= 1e8 else f"{count / 1e6:.1f} MB"
