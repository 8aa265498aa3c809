"""Asking for needles on a mock server, and the table that comes of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import httpx2
import pytest
from click.testing import CliRunner

from codex.cli.evals.long_context import long_context
from codex.engine.mock import MockEngine
from codex.evals.journal import Journal, Record
from codex.evals.long_context import Haystack, build_haystack
from codex.evals.long_context.ask import READING, ask_needles, key_of
from codex.evals.long_context.fidelity import Span, SpanScore
from codex.evals.long_context.reporting import best_by_length, long_context_report, rows_of
from codex.evals.long_context.sources import read_sources
from codex.evals.scoring import Scorer
from codex.evals.target import Target
from codex.pipeline import Pipeline
from codex.serve.rest import create_app
from codex.settings import Settings
from codex.types import EngineRequest

SOURCES = read_sources()
HAYSTACKS = [build_haystack(SOURCES, tokens=tokens, per_kind=1, seed=0) for tokens in (1500, 3000)]


def _knows(kinds: set[str]) -> Callable[[EngineRequest], str]:
    """A model that answers needles of these kinds."""

    def script(request: EngineRequest) -> str:
        asked = bytes(token for token in request.tokens if token < 256).decode()
        for needle in (needle for haystack in HAYSTACKS for needle in haystack.needles):
            if asked.endswith(needle.question) and needle.kind in kinds:
                return needle.expected + ("):" if needle.kind == "signature" else "") + "\nmore"
        return "None\n"

    return script


async def _ask(engine: MockEngine, path: Path, *, resume: bool = False) -> dict[str, Record]:
    await engine.start()
    app = create_app(Pipeline(engine, Settings()), Settings())
    async with Target("http://codex.test", transport=httpx2.ASGITransport(app), retries=0) as target:
        with Journal(path, {}, resume=resume) as journal:
            return await ask_needles(HAYSTACKS, target, Scorer(), journal, memory=lambda: 1 << 30)


@pytest.mark.anyio
async def test_needles_that_the_server_knows_are_found(tmp_path: Path) -> None:
    engine = MockEngine(_knows({"constant", "signature", "definition"}))
    records = await _ask(engine, tmp_path / "a.jsonl")
    right = {key: record["right"] for key, record in records.items() if not key.endswith(READING)}
    assert len(right) == 8
    assert {key.split("/")[1].split("-")[0] for key, found in right.items() if not found} == {"combined"}
    assert sum(right.values()) == 6
    assert all(record["prompt_tokens"] > 1500 for record in records.values())


@pytest.mark.anyio
async def test_each_haystack_is_read_first_and_alone(tmp_path: Path) -> None:
    engine = MockEngine("1\n")
    await _ask(engine, tmp_path / "a.jsonl")
    sizes = [len(request.tokens) for request in engine.seen]
    assert len(sizes) == 10
    assert (sizes[0], sizes[5]) == (min(sizes[:5]), min(sizes[5:]))
    assert engine.seen[0].sampling.max_tokens == 1


@pytest.mark.anyio
async def test_an_interrupted_run_asks_for_the_rest_only(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    await _ask(MockEngine("1\n"), path)
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-2]))
    engine = MockEngine("1\n")
    records = await _ask(engine, path, resume=True)
    assert (len(engine.seen), len(records)) == (2, 10)


def _records(haystack: Haystack, wrong: int, seconds: float) -> dict[str, Record]:
    reading = {
        "prompt_tokens": haystack.tokens,
        "first_s": seconds,
        "total_s": seconds,
        "peak_bytes": 2 << 30,
    }
    found: dict[str, Record] = {key_of(haystack, READING): reading}
    for number, needle in enumerate(haystack.needles):
        right = number >= wrong
        text = needle.expected if right else "?"
        found[key_of(haystack, needle.id)] = {
            "text": text,
            "right": right,
            "prompt_tokens": 1,
            "first_s": 1.0,
        }
    return found


def _spans(kl: float, agreement: float) -> list[SpanScore]:
    score = SpanScore(Span(0, 4), agreement, True, kl, 1.0, 1.0 + kl, kl)
    return [replace(score, span=Span(start, 4)) for start in (1408, 1200, 2944)]


ANSWERS = {
    "dense": {**_records(HAYSTACKS[0], 0, 10.0), **_records(HAYSTACKS[1], 1, 30.0)},
    "trishape:32:512": {**_records(HAYSTACKS[0], 0, 8.0), **_records(HAYSTACKS[1], 1, 15.0)},
    "trishape:32:64": {**_records(HAYSTACKS[0], 0, 5.0), **_records(HAYSTACKS[1], 3, 10.0)},
    "xattention": {**_records(HAYSTACKS[0], 4, 1.0), **_records(HAYSTACKS[1], 4, 1.0)},
}
SPANS = {"trishape:32:512": _spans(0.001, 1.0), "trishape:32:64": _spans(0.002, 1.0)}


def test_the_fastest_attention_that_loses_nothing_is_the_best() -> None:
    rows = rows_of(HAYSTACKS, ANSWERS, SPANS, "dense")
    assert best_by_length(rows, "dense") == {1500: "trishape:32:64", 3000: "trishape:32:512"}


def test_without_a_comparison_of_distributions_nothing_but_dense_is_safe() -> None:
    rows = rows_of(HAYSTACKS, ANSWERS, {}, "dense")
    assert {row.safe for row in rows} == {None}
    assert set(best_by_length(rows, "dense").values()) == {"dense"}


def test_a_distribution_that_moved_is_not_safe() -> None:
    moved = {"trishape:32:512": _spans(0.2, 0.9), "trishape:32:64": _spans(0.005, 0.9)}
    rows = rows_of(HAYSTACKS, ANSWERS, moved, "dense")
    assert {row.safe for row in rows if row.label.startswith("trishape")} == {False}


def test_the_report_holds_every_attention_at_every_length() -> None:
    report = long_context_report(HAYSTACKS, ANSWERS, SPANS, {})
    (by_length, by_kind) = report.tables
    assert [row[:4] for row in by_length.rows[:3]] == [
        (1500, "dense", 150.0, "4/4"),
        (1500, "trishape:32:512", 187.5, "4/4"),
        (1500, "trishape:32:64", 300.0, "4/4"),
    ]
    assert len(by_length.rows) == 8
    assert by_kind.rows[3] == ("xattention", "0/2", "0/2", "0/2", "0/2")
    assert report.figures["needle_accuracy"] == 19 / 32
    rows = {(row.label, row.length): row for row in rows_of(HAYSTACKS, ANSWERS, SPANS, "dense")}
    assert rows["trishape:32:64", 3000].same_answer == 0.5
    assert rows["xattention", 1500].p_value == 0.125
    assert rows["trishape:32:512", 1500].kl == pytest.approx(0.001)
    assert rows["dense", 3000].peak_bytes == 2 << 30


def test_the_command_runs_on_the_server_it_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    arguments = [
        "--backend",
        "mock",
        "--attention",
        "dense",
        "--attention",
        "trishape:32:64",
        "--lengths",
        "1500",
    ]
    out = tmp_path / "a.json"
    result = CliRunner().invoke(
        long_context, [*arguments, "--needles", "1", "--json", str(out)], catch_exceptions=False
    )
    assert result.exit_code == 0, result.output
    body = json.loads(out.read_text())
    assert body["needle_accuracy"] == 0.0
    assert set(body["attention"]) == {"dense", "trishape:32:64"}
    assert body["attention"]["dense"]["1500"]["peak_bytes"] > 10 << 20
    assert body["attention"]["dense"]["1500"]["prompt_tokens"] > 5000
    assert body["config"]["run"]["lengths"] == [1500]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--url", "http://127.0.0.1:9", "--attention", "xattention"],
        ["--url", "http://127.0.0.1:9", "--spans", "1"],
        ["--lengths", "many"],
    ],
)
def test_options_that_contradict_each_other_are_refused(arguments: list[str]) -> None:
    assert CliRunner().invoke(long_context, arguments).exit_code == 2
