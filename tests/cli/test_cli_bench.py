"""`codex-cli bench`: the overhead run end to end on the mock engine, and the options of the command."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from codex.cli import cli
from codex.engine.mock import ByteTokenizer, MockEngine
from codex.errors import EvaluationError
from codex.evals.bench_overhead import Overhead, OverheadPlan, Pair, overhead, overhead_report
from codex.evals.bench_peers import PEERS
from codex.evals.bench_subjects import running
from codex.evals.bench_tables import markdown
from codex.evals.report import figure, read_json, write_json

PLAN = OverheadPlan(seconds=0.1, prompt_tokens=700, streams=4, stream_tokens=6)


def run_overhead(url: str, watched: list[str]) -> Overhead:
    async def measured() -> Overhead:
        async with running(MockEngine("value = 1\n" * 5)) as bare:
            return await overhead(bare, url, ByteTokenizer(), 32_768, PLAN, watched.append)

    return asyncio.run(measured())


def test_overhead_runs_every_figure_in_alternating_rounds(mock_url: str, tmp_path: Path) -> None:
    watched: list[str] = []
    found = run_overhead(mock_url, watched)
    report = overhead_report(found, PLAN, {"model": "mock"})
    assert len(watched) == 6
    for pair in (found.ttft, found.typed_ttft, found.gap, found.throughput):
        assert len(pair.bare) == len(pair.server) >= 3
        assert min(*pair.bare, *pair.server) > 0
    write_json(report, tmp_path / "overhead.json")
    again = read_json(tmp_path / "overhead.json")
    for name in ("ttft_added_ms_p50", "throughput_ratio_4", "warm_ttft_ms_p50", "decode_gap_ms_p50"):
        assert figure(again, name) is not None
    assert "machine" in json.loads((tmp_path / "overhead.json").read_text())["config"]
    assert markdown(report).count("\n| ") == 5


def test_a_server_that_reads_other_tokens_is_refused(mock_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Doubling(ByteTokenizer):
        def encode(self, text: str) -> list[int]:
            return [each for each in super().encode(text) for _ in range(2)]

    monkeypatch.setattr(f"{__name__}.ByteTokenizer", Doubling)
    with pytest.raises(EvaluationError, match="another model"):
        run_overhead(mock_url, [])


def test_pairs_compare_within_a_round() -> None:
    pair = Pair(bare=[1.0, 2.0, 4.0], server=[1.5, 2.5, 4.4])
    assert pair.added == pytest.approx(0.5)
    assert pair.ratio == pytest.approx(1.25)


def test_a_missing_peer_is_told_before_anything_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PEERS, "xllamacpp", "no_such_module")
    result = CliRunner().invoke(cli, ["bench", "engine", "--peer", "xllamacpp"])
    assert isinstance(result.exception, EvaluationError)
    assert "pip install xllamacpp" in str(result.exception)


@pytest.mark.parametrize("lengths", ["2048,x", "0", "", "-5"])
def test_lengths_that_are_no_numbers_are_refused(lengths: str) -> None:
    result = CliRunner().invoke(cli, ["bench", "engine", "--lengths", lengths])
    assert result.exit_code == 2
    assert "2048,8192" in result.output
