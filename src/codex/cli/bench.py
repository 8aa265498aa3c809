"""`codex-cli bench`: options, progress and output of the benchmarks. The measuring is in codex/evals."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from codex.settings import Settings

if TYPE_CHECKING:
    from codex.engine.models import PreparedModel
    from codex.evals.bench_engine import EnginePlan, Measured, Watch
    from codex.evals.bench_overhead import Overhead, OverheadPlan
    from codex.evals.bench_peers import PeerName
    from codex.evals.report import JsonValue, Report

_Command = TypeVar("_Command", bound=Callable[..., object])


class Numbers(click.ParamType[tuple[int, ...]]):
    """Whole numbers above 0, separated by commas."""

    name = "numbers"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        if isinstance(value, tuple):
            return value
        parts = str(value).replace("k", "000").split(",")
        if not all(part.strip().isdecimal() and int(part) > 0 for part in parts):
            self.fail(f"{value!r} is no list of numbers: write it like 2048,8192", param, ctx)
        return tuple(int(part) for part in parts)


def _shared(command: _Command) -> _Command:
    for option in (
        click.option(
            "--json", "json_file", type=click.Path(dir_okay=False, path_type=Path), help="Report file."
        ),
        click.option("--quick", is_flag=True, help="A short run: a first impression, wide scatter."),
        click.option("--model", help="Model to measure. [default: CODEX_MODEL or qwen2.5-coder-0.5b]"),
    ):
        command = option(command)
    return command


@click.group()
def bench() -> None:
    """Measure this machine: what the engine can do, and what the server adds to it.

    Stop other work first. Tables are Markdown on stdout, progress goes to stderr.
    """


@bench.command()
@_shared
@click.option("--lengths", type=Numbers(), default="2048,8192,16384,28672", show_default=True, help="Tokens.")
@click.option("--streams", type=Numbers(), default="1,8,16,32", show_default=True, help="Answers at once.")
@click.option(
    "--seconds", type=click.FloatRange(min=5), default=300.0, show_default=True, help="Limit a subject."
)
@click.option(
    "--peer",
    "peers",
    multiple=True,
    type=click.Choice(["xllamacpp", "llama-cpp-python"]),
    help="Also measure this engine, if installed.",
)
@click.option(
    "--peer-model",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="GGUF file for the peers; default: the catalogue's own of --model.",
)
def engine(
    json_file: Path | None,
    quick: bool,
    model: str | None,
    lengths: tuple[int, ...],
    streams: tuple[int, ...],
    seconds: float,
    peers: tuple[PeerName, ...],
    peer_model: Path | None,
) -> None:
    """Prefill by prompt length, decode by number of streams; peers run the same plan side by side."""
    from codex.evals.bench_engine import EnginePlan, engine_report
    from codex.evals.bench_peers import require

    for peer in peers:
        require(peer)
    settings = _settings(model)
    plan = EnginePlan(lengths, streams, seconds=seconds)
    if quick:
        plan = EnginePlan((min(lengths),), streams, decode_tokens=24, seconds=min(seconds, 60))
    prepared = _prepared(settings)
    weights = (peer_model or _weights(settings)) if peers else None
    with _progress() as watch:
        measured = asyncio.run(_measure(settings, prepared, plan, peers, weights, watch))
    _hand_over(engine_report(measured, plan, _config(prepared, weights)), json_file)


async def _measure(
    settings: Settings,
    prepared: PreparedModel,
    plan: EnginePlan,
    peers: tuple[PeerName, ...],
    weights: Path | None,
    watch: Watch,
) -> list[Measured]:
    from codex.engine.create import openvino_engine
    from codex.evals.bench_engine import measure
    from codex.evals.bench_peers import peer
    from codex.evals.bench_subjects import running

    watch("loading our engine")
    ours = openvino_engine(prepared, settings)
    async with running(ours) as subject:
        measured = [await measure(subject, plan, ours.tokenizer, watch)]
    for name in peers:
        watch(f"loading {name}")
        assert weights is not None
        async with peer(name, weights, context=plan.longest, streams=max(plan.streams)) as other:
            measured.append(await measure(other, plan, ours.tokenizer, watch))
    return measured


@bench.command()
@_shared
@click.option("--url", help="Server to measure, serving the same model; default: one is started for this.")
@click.option(
    "--seconds", type=click.FloatRange(min=1), default=100.0, show_default=True, help="Limit of rounds."
)
@click.option("--prompt-tokens", type=click.IntRange(200, 24_000), default=1500, show_default=True)
def overhead(
    json_file: Path | None,
    quick: bool,
    model: str | None,
    url: str | None,
    seconds: float,
    prompt_tokens: int,
) -> None:
    """The bare engine against the whole server, in alternating rounds of one run."""
    from codex.evals.bench_overhead import OverheadPlan, overhead_report

    settings = _settings(model)
    plan = OverheadPlan(seconds=seconds, prompt_tokens=prompt_tokens)
    if quick:
        plan = OverheadPlan(seconds=min(seconds, 20), prompt_tokens=min(prompt_tokens, 600), stream_tokens=16)
    prepared = _prepared(settings)
    with _progress() as watch, _server(settings, url, watch) as address:
        found = _overhead(settings, prepared, address, plan, watch)
    _hand_over(overhead_report(found, plan, _config(prepared, None)), json_file)


def _overhead(
    settings: Settings, prepared: PreparedModel, url: str, plan: OverheadPlan, watch: Watch
) -> Overhead:
    from codex.engine.tokenizer import QwenTokenizer
    from codex.evals.bench_overhead import overhead as measure_overhead
    from codex.evals.bench_subjects import BareSubject

    watch("loading the bare engine")
    bare = BareSubject(prepared.path, kv_cache_bytes=settings.kv_cache_bytes, threads=settings.engine_threads)
    tokenizer = QwenTokenizer.load(prepared.path / "tokenizer.json")
    return asyncio.run(measure_overhead(bare, url, tokenizer, prepared.context_length, plan, watch))


@contextmanager
def _server(settings: Settings, url: str | None, watch: Watch) -> Iterator[str]:
    from codex.evals.local_server import local_server

    if url is not None:
        yield url
        return
    watch("starting a server")
    with _ended_by_sigterm(), local_server(settings) as started:
        yield started


@contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """SIGTERM unwinds like Ctrl+C, so that the server which was started does not outlive the command."""

    def leave(_signal: int, _frame: object) -> None:
        sys.exit(128 + signal.SIGTERM)

    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _settings(model: str | None) -> Settings:
    return Settings() if model is None else Settings(model=model)


def _prepared(settings: Settings) -> PreparedModel:
    from codex.engine.models import prepare

    return prepare(settings.model, models_dir=settings.models_dir, quant=settings.quant_mode)


def _weights(settings: Settings) -> Path:
    """The GGUF that our engine's model was made from: peers read the same weights."""
    from codex.engine.models import CATALOGUE, fetch_weights
    from codex.engine.models.progress import Silent

    if settings.model not in CATALOGUE:
        path = Path(settings.model)
        if path.suffix == ".gguf":
            return path
        raise click.UsageError("a peer needs a GGUF file: name it with --peer-model")
    return fetch_weights(CATALOGUE[settings.model], settings.models_dir, Silent())


def _config(prepared: PreparedModel, weights: Path | None) -> dict[str, JsonValue]:
    from codex.cli.checks.machine import cpu_flags

    return {
        "model": prepared.name,
        "base_digest": prepared.base_digest,
        "quant": prepared.quant,
        "peer_weights": weights.name if weights else None,
        "cpu_flags": sorted(cpu_flags()),
    }


@contextmanager
def _progress() -> Iterator[Watch]:
    """One line on stderr that says what is measured and for how long already."""
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, refresh_per_second=1) as progress:
        task = progress.add_task("")

        def watch(step: str) -> None:
            if not console.is_terminal:
                console.print(step)
            progress.reset(task, description=step)

        yield watch


def _hand_over(report: Report, json_file: Path | None) -> None:
    from codex.evals.bench_tables import markdown
    from codex.evals.report import write_json

    click.echo(markdown(report))
    if json_file is not None:
        write_json(report, json_file)
