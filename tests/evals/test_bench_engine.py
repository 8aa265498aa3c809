"""`bench engine` on subjects whose speed is known."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from codex.engine.mock import ByteTokenizer, MockEngine
from codex.errors import EvaluationError
from codex.evals.bench_engine import EnginePlan, Measured, Streams, engine_report, measure, stream_rates
from codex.evals.bench_peers import PEERS, require
from codex.evals.bench_prompts import code
from codex.evals.bench_subjects import Arrivals, running
from codex.evals.bench_tables import markdown
from codex.evals.report import Table

pytestmark = pytest.mark.anyio


class Clockwork:
    """Reads 1,000 prompt tokens a second and decodes 100 tokens a second, on paper."""

    name = "clockwork"

    def __init__(self, max_streams: int = 64) -> None:
        self.max_streams = max_streams
        self.asked: list[tuple[int, int, int]] = []

    async def answer(self, prompts: Sequence[Sequence[int]], max_tokens: int) -> Arrivals:
        self.asked.append((len(prompts), len(prompts[0]), max_tokens))
        first = sum(map(len, prompts)) / 1000
        return [[first + 0.01 * each for each in range(max_tokens)] for _ in prompts]


async def test_rates_are_what_the_subject_does() -> None:
    plan = EnginePlan(lengths=(3000, 2000), streams=(1, 8), decode_tokens=11)
    found = await measure(Clockwork(), plan, ByteTokenizer(), lambda _: None)
    assert found.prefill == {2000: 2.0, 3000: 3.0}
    assert found.streams[1].decode == pytest.approx(100)
    assert found.streams[8].decode == pytest.approx(800)
    assert found.streams[8].gap_ms_p50 == pytest.approx(10)
    assert found.streams[8].all_in == pytest.approx(88 / (0.512 + 0.1))


async def test_a_prompt_that_takes_too_long_is_skipped_and_named() -> None:
    subject = Clockwork()
    plan = EnginePlan(lengths=(2000, 900_000), streams=(), seconds=60)
    found = await measure(subject, plan, ByteTokenizer(), lambda _: None)
    assert found.skipped == {900_000: pytest.approx(900)}
    assert max(tokens for _, tokens, _ in subject.asked) == 2000
    shown = markdown(engine_report([found], plan, {}))
    assert "| 900,000 | skipped | about 900 |" in shown


async def test_a_subject_without_batching_is_not_asked_for_streams() -> None:
    plan = EnginePlan(lengths=(300,), streams=(1, 8))
    found = [
        await measure(each, plan, ByteTokenizer(), lambda _: None) for each in (Clockwork(), Clockwork(1))
    ]
    assert set(found[1].streams) == {1}
    report = engine_report(found, plan, {"model": "m"})
    assert report.figures["prefill_tokens_per_s"] == {"300": pytest.approx(1000)}
    assert "| 8 | 800 |" in markdown(report)
    assert markdown(report).splitlines()[-1].endswith("| - | - | - |")


async def test_our_engine_is_a_subject() -> None:
    async with running(MockEngine("x" * 100)) as subject:
        arrivals = await subject.answer([[1, 2], [3]], 5)
    assert [len(each) for each in arrivals] == [5, 5]
    assert arrivals[0] == sorted(arrivals[0])


def test_streams_count_from_the_moment_all_have_begun() -> None:
    assert stream_rates([[1.0, 2.0, 3.0], [2.0, 2.5, 4.0]]) == Streams(
        all_in=1.5, decode=1.5, gap_ms_p50=1000
    )


def test_prompts_have_the_length_that_was_asked_for_and_share_no_prefix() -> None:
    texts = [code(number, 500, ByteTokenizer()) for number in (1, 2, 1)]
    assert [len(ids) for _, ids in texts] == [500, 500, 500]
    assert texts[0] == texts[2]
    assert texts[0][1][:12] != texts[1][1][:12]
    compile(texts[0][0], "prompt", "exec")


def test_a_peer_that_is_not_installed_is_named_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PEERS, "xllamacpp", "no_such_module")
    with pytest.raises(EvaluationError, match="pip install xllamacpp"):
        require("xllamacpp")


def test_tables_are_markdown() -> None:
    table = Table("T", ("what", "a"), (("x", 1234.5), ("y", 0.12345), ("z", 12.34), ("w", None), ("v", 3)))
    report = engine_report([Measured("m")], EnginePlan((), ()), {})
    assert markdown(report).startswith("**Prefill")
    from codex.evals.bench_tables import table_markdown

    assert table_markdown(table).splitlines() == [
        "**T**",
        "",
        "| what | a |",
        "|---|---:|",
        "| x | 1,234 |",
        "| y | 0.123 |",
        "| z | 12.3 |",
        "| w | - |",
        "| v | 3 |",
    ]
