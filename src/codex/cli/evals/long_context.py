"""`codex-cli eval long-context`: options and the run."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import click

from codex.cli.evals.common import TargetChoice, hand_over, output_options, run_config, target_options
from codex.errors import EvaluationError
from codex.evals.journal import Journal, Record, default_path
from codex.evals.local_server import local_server
from codex.evals.long_context import Attention, Haystack, build_haystack, parse_attention
from codex.evals.long_context.ask import ask_needles
from codex.evals.long_context.documents import Plan, compare_documents, pick_documents
from codex.evals.long_context.fidelity import SpanScore
from codex.evals.long_context.reporting import long_context_report
from codex.evals.long_context.sources import read_sources
from codex.evals.processes import server_peak_bytes
from codex.evals.report import JsonValue
from codex.evals.run import progress_bar
from codex.evals.scoring import Scorer
from codex.evals.target import Target
from codex.settings import Settings
from codex.types import SourceFile

AS_SERVED = "as served"


@dataclass(frozen=True, slots=True)
class _Options:
    attentions: tuple[Attention, ...]
    lengths: tuple[int, ...]
    per_kind: int
    source: Path | None
    seed: int
    spans: int
    documents: int
    resume: bool


@click.command("long-context")
@click.option(
    "--attention",
    "attentions",
    multiple=True,
    help="dense, trishape:SINK:RECENT or xattention; repeat it to compare. Of the server we start.",
)
@click.option("--lengths", default="3000,6000,12000,24000", show_default=True, help="Tokens, nominal.")
@click.option(
    "--needles", "per_kind", type=click.IntRange(1), default=3, show_default=True, help="Of each kind."
)
@click.option(
    "--source", type=click.Path(exists=True, file_okay=False, path_type=Path), help="Folder of code."
)
@click.option("--seed", type=int, default=0, show_default=True)
@click.option(
    "--spans",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Places a length and file where distributions are compared; 0 leaves that out.",
)
@click.option("--documents", type=click.IntRange(1), default=2, show_default=True, help="Files for --spans.")
@click.option("--resume", is_flag=True, help="Go on with the answers of an interrupted run.")
@target_options
@output_options
def long_context(json_file: Path | None, html_file: Path | None, **given: Any) -> None:
    """Needles in much real code, and what a sparse prefill changes: speed, answers, distribution, memory."""
    choice = TargetChoice.taken_from(given)
    options = _options(given, choice)
    sources = read_sources(options.source)
    haystacks = [
        build_haystack(sources, tokens=length, per_kind=options.per_kind, seed=options.seed)
        for length in options.lengths
    ]
    started = time.monotonic()
    answers = _answers(haystacks, choice, options)
    spans = _spans(sources, choice, options)
    run: dict[str, JsonValue] = {
        "attentions": list(answers),
        "lengths": list(options.lengths),
        "needles_of_each_kind": options.per_kind,
        "seed": options.seed,
        "spans": options.spans,
        "documents": options.documents,
        "seconds": round(time.monotonic() - started, 1),
    }
    data: dict[str, JsonValue] = {"source": str(options.source or "standard library"), "files": len(sources)}
    config = run_config(run, choice.config({}, 1), data)
    hand_over(long_context_report(haystacks, answers, spans, config), json_file, html_file)


def _options(given: dict[str, Any], choice: TargetChoice) -> _Options:
    attentions = tuple(parse_attention(text) for text in given.pop("attentions") or ("dense",))
    if choice.url is not None and (len(attentions) > 1 or attentions[0].kind != "dense" or given["spans"]):
        raise click.UsageError("--attention and --spans are for the server we start, not for --url")
    try:
        lengths = tuple(sorted({int(text) for text in given.pop("lengths").split(",")}))
    except ValueError as error:
        raise click.UsageError(f"--lengths takes numbers of tokens between commas: {error}") from error
    return _Options(attentions=attentions, lengths=lengths, **given)


def _answers(
    haystacks: Sequence[Haystack], choice: TargetChoice, options: _Options
) -> dict[str, Mapping[str, Record]]:
    """By attention. Each gets a server of its own, one after the other."""
    if choice.url is not None:
        target = Target(choice.url, choice.model, fim=choice.fim, api_key=choice.api_key, timeout_s=3600.0)
        return {AS_SERVED: anyio.run(_ask, haystacks, target, AS_SERVED, choice, options)}
    found: dict[str, Mapping[str, Record]] = {}
    for attention in options.attentions:
        settings = attention.applied(choice.settings(1))
        with local_server(settings) as url:
            target = Target(url, fim=choice.fim, timeout_s=3600.0)
            found[attention.label] = anyio.run(_ask, haystacks, target, attention.label, choice, options)
    return found


async def _ask(
    haystacks: Sequence[Haystack], target: Target, label: str, choice: TargetChoice, options: _Options
) -> dict[str, Record]:
    async with target:
        entry = await target.describe()
        texts = [haystack.prompt(needle) for haystack in haystacks for needle in haystack.needles]
        identity = {"attention": label, "target": choice.config(entry, 1), "prompts": texts}
        total = sum(len(haystack.needles) + 1 for haystack in haystacks)
        with (
            Journal(_journal_path(identity), _digested(identity), resume=options.resume) as journal,
            progress_bar(label, total) as tick,
        ):
            memory = server_peak_bytes if choice.url is None else (lambda: None)
            return await ask_needles(haystacks, target, Scorer(), journal, tick=tick, memory=memory)


def _journal_path(identity: Mapping[str, Any]) -> Path:
    return default_path("long-context", identity)


def _digested(identity: Mapping[str, Any]) -> dict[str, Any]:
    """Without the prompts, which are long: their digest is the journal's name."""
    return {name: value for name, value in identity.items() if name != "prompts"}


def _spans(
    sources: Sequence[SourceFile], choice: TargetChoice, options: _Options
) -> dict[str, tuple[SpanScore, ...]]:
    """By attention, over all documents. Loads the model here, after the servers have gone."""
    sparse = [attention for attention in options.attentions if attention.kind == "trishape"]
    if not options.spans or not sparse:
        return {}
    from codex.engine.models import prepare
    from codex.engine.tokenizer import QwenTokenizer
    from codex.evals.long_context.openvino_logits import OpenVinoLogits

    settings: Settings = choice.settings(1)
    if settings.backend != "openvino":
        raise EvaluationError("--spans needs the openvino backend: the distribution is computed on its model")
    prepared = prepare(settings.model, models_dir=settings.models_dir, quant=settings.quant_mode)
    plan = Plan(options.lengths, options.spans)
    tokenizer = QwenTokenizer.load(prepared.path / "tokenizer.json")
    needed = plan.reading + plan.span_tokens
    documents = pick_documents(sources, tokenizer, tokens=needed, count=options.documents, seed=options.seed)
    identity = {
        "base": prepared.base_digest,
        "quant": prepared.quant,
        "lengths": list(options.lengths),
        "spans": options.spans,
        "documents": [document.path for document in documents],
    }
    total = len(documents) * (1 + len(sparse)) * plan.reading
    path = default_path("long-context-spans", identity)
    with (
        Journal(path, identity, resume=options.resume) as journal,
        progress_bar("distributions (tokens)", total) as tick,
    ):
        model = OpenVinoLogits(prepared.path, threads=settings.engine_threads)

        def read(tokens: int) -> None:
            for _ in range(tokens):
                tick()

        scores = compare_documents(model, documents, sparse, plan, journal, read)
    return {
        attention.label: tuple(
            score for key, own in scores.items() if key.startswith(f"{attention.label}/") for score in own
        )
        for attention in sparse
    }
