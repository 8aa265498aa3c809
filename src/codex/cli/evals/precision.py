"""`codex-cli eval precision`: options and the run."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import anyio
import click

from codex.cli.evals.common import FILE, hand_over, output_options, run_config
from codex.engine.mock import ByteTokenizer
from codex.engine.models import prepare
from codex.engine.tokenizer import QwenTokenizer
from codex.evals.journal import Journal, Record, default_path
from codex.evals.local_server import local_server
from codex.evals.precision import (
    Bench,
    Condition,
    Measured,
    Speed,
    conditions_of,
    make_bench,
    measure_speed,
    precision_report,
)
from codex.evals.precision.wordings import WORDINGS, Reworded
from codex.evals.processes import server_peak_bytes
from codex.evals.report import JsonValue
from codex.evals.run import progress_bar
from codex.settings import Settings
from codex.types import Tokenizer

QUANTS = ("disable", "fp16", "int8", "int4")


@click.command()
@click.option(
    "--dataset",
    type=click.Choice(["humaneval", "humaneval+", "mbpp", "mbpp+", "santacoder"]),
    default="humaneval",
    show_default=True,
)
@click.option(
    "--mode",
    "modes",
    type=click.Choice(QUANTS),
    multiple=True,
    default=("disable", "int8", "int4"),
    show_default=True,
    help="Precisions; the first one is the reference. Repeat the option.",
)
@click.option(
    "--wording",
    "wordings",
    type=click.Choice(WORDINGS),
    multiple=True,
    default=("begun",),
    show_default=True,
    help="Ways of asking, tried with the first precision. Repeat the option.",
)
@click.option("--ablate", is_flag=True, help="All wordings: which share of a gap is the prompt's?")
@click.option("--model", help="Catalogue name, GGUF file or IR folder.")
@click.option("--backend", type=click.Choice(["openvino", "mock"]))
@click.option("--data", help="Folder, file or URL of the data set (URL#sha256=…).")
@click.option("--limit", type=click.IntRange(1), help="So many tasks, evenly spread.")
@click.option("--concurrency", type=click.IntRange(1), default=16, show_default=True)
@click.option("--answers", type=FILE, help="Where answers are kept; the condition is added to the name.")
@click.option("--resume", is_flag=True, help="Go on with the answers of an interrupted run.")
@output_options
def precision(json_file: Path | None, html_file: Path | None, **given: Any) -> None:
    """The same tasks in several precisions, one after the other: pass rate, paired loss, speed, memory."""
    bench = make_bench(
        given["dataset"], given["data"], limit=given["limit"], concurrency=given["concurrency"]
    )
    wordings = WORDINGS if given["ablate"] else given["wordings"]
    conditions = conditions_of(given["modes"], wordings)
    settings = _settings(given)
    started = time.monotonic()
    measured = list(_measured(bench, conditions, settings, given))
    run: dict[str, JsonValue] = {
        "data_set": given["dataset"],
        "limit": given["limit"],
        "concurrency": given["concurrency"],
        "conditions": [condition.label for condition in conditions],
        "answers": dict(bench.settings(conditions[0].wording)),
        "seconds": round(time.monotonic() - started, 1),
    }
    data: dict[str, JsonValue] = {"name": bench.loaded.name, "sha256": bench.loaded.sha256}
    config = run_config(run, {"settings": settings.model_dump(mode="json")}, data)
    hand_over(precision_report(measured, bench.measure, config), json_file, html_file)


def _settings(given: dict[str, Any]) -> Settings:
    own = {name: given[name] for name in ("model", "backend") if given[name] is not None}
    base = Settings()
    room = {"max_concurrent": max(base.max_concurrent, given["concurrency"])}
    return Settings.model_validate(base.model_dump() | room | own)


def _measured(
    bench: Bench, conditions: Sequence[Condition], settings: Settings, given: dict[str, Any]
) -> Iterator[Measured]:
    """One server a precision, for all its wordings."""
    for quant, own in groupby(conditions, key=lambda condition: condition.quant):
        chosen = settings.model_copy(update={"quant_mode": quant})
        tokenizer, weights_bytes = _prepared(chosen)
        with local_server(chosen) as url:
            speed: Speed | None = None
            for condition in own:
                target = Reworded(url, condition.wording, tokenizer=tokenizer)
                records, speed = anyio.run(_run, bench, condition, target, chosen, given, speed)
                report = bench.report(records, condition.wording)
                yield Measured(condition, report, speed, server_peak_bytes(), weights_bytes)


def _prepared(settings: Settings) -> tuple[Tokenizer, int | None]:
    """The model's tokenizer and the size of its weights, which the mock has not."""
    if settings.backend == "mock":
        return ByteTokenizer(), None
    ready = prepare(settings.model, models_dir=settings.models_dir, quant=settings.quant_mode)
    weights = (ready.path / "openvino_model.bin").stat().st_size
    return QwenTokenizer.load(ready.path / "tokenizer.json"), weights


async def _run(
    bench: Bench,
    condition: Condition,
    target: Reworded,
    settings: Settings,
    given: dict[str, Any],
    speed: Speed | None,
) -> tuple[dict[str, Record], Speed]:
    """Records of all tasks; speed is measured once a server, before its caches hold anything."""
    async with target:
        entry = await target.describe()
        identity = {
            **bench.settings(condition.wording),
            "quant": condition.quant,
            "data": bench.loaded.sha256,
            "model": entry.get("release") or settings.model,
        }
        path = _journal_path(given["answers"], condition) or default_path("precision", identity)
        speed = speed or await measure_speed(target)
        with (
            Journal(path, identity, resume=given["resume"]) as journal,
            progress_bar(condition.label, bench.total) as tick,
        ):
            return await bench.run(target, journal, condition.wording, tick), speed


def _journal_path(answers: Path | None, condition: Condition) -> Path | None:
    if answers is None:
        return None
    return answers.with_name(f"{answers.stem}-{condition.quant}-{condition.wording}{answers.suffix}")
