"""Haystacks and needles: made the same every time, and judged by running the answer."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from codex.errors import EvaluationError
from codex.evals.long_context import build_haystack, parse_attention
from codex.evals.long_context.needles import KINDS, NeedleKind, make_needle
from codex.evals.long_context.sources import pieces, read_sources
from codex.evals.scoring import Scorer
from codex.types import SourceFile

SOURCES = read_sources()


def test_a_haystack_is_the_same_for_the_same_seed() -> None:
    first, again, other = (build_haystack(SOURCES, tokens=3000, per_kind=2, seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert first.text != other.text


@pytest.mark.parametrize("tokens", [3000, 12_000])
def test_every_fact_stands_in_the_haystack_once_and_no_question_does(tokens: int) -> None:
    haystack = build_haystack(SOURCES, tokens=tokens, per_kind=3, seed=0)
    facts = [fact for needle in haystack.needles for fact in needle.facts]
    assert len(haystack.needles) == 3 * len(KINDS)
    assert len(facts) == 15
    assert [haystack.text.count(fact) for fact in facts] == [1] * 15
    assert not any(needle.question in haystack.text for needle in haystack.needles)
    assert abs(len(haystack.text) / 4.1 - tokens) < tokens / 8


def test_needles_lie_at_all_depths() -> None:
    haystack = build_haystack(SOURCES, tokens=12_000, per_kind=3, seed=0)
    depths = sorted(depth for own in haystack.depths.values() for depth in own)
    assert len(depths) == 15
    assert depths[0] < 0.15
    assert depths[-1] > 0.75
    assert len({round(depth, 1) for depth in depths}) >= 6


def test_haystacks_of_two_lengths_share_no_beginning() -> None:
    short, long = (build_haystack(SOURCES, tokens=tokens, per_kind=1, seed=0) for tokens in (3000, 6000))
    assert short.text.splitlines()[0] != long.text.splitlines()[0]


def test_a_haystack_stays_python() -> None:
    haystack = build_haystack(SOURCES, tokens=6000, per_kind=2, seed=3)
    compile(haystack.text.replace("from __future__", "from future_"), "haystack.py", "exec")


def test_too_little_code_and_too_many_needles_are_refused() -> None:
    small = [SourceFile("a.py", "x = 1\n")]
    with pytest.raises(EvaluationError, match="fewer than"):
        build_haystack(small, tokens=3000, per_kind=1, seed=0)
    with pytest.raises(EvaluationError, match="too few"):
        build_haystack(SOURCES, tokens=1000, per_kind=9, seed=0)


def test_pieces_joined_are_the_file() -> None:
    sources = [source for source in SOURCES if source.path in {"argparse.py", "json/decoder.py", "typing.py"}]
    assert len(sources) == 3
    for source in sources:
        assert "".join(pieces(source)) == source.text
        assert len(pieces(source)) > 5


def test_tables_and_tests_are_no_sources(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    code = "def f():\n    return 1\n\n\n" * 20
    (tmp_path / "tests" / "test_a.py").write_text(code)
    (tmp_path / "table.py").write_text("TABLE = {\n" + "    1: 2,\n" * 500 + "}\n")
    with pytest.raises(EvaluationError, match="no Python code"):
        read_sources(tmp_path)
    (tmp_path / "code.py").write_text(code)
    assert [source.path for source in read_sources(tmp_path)] == ["code.py"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_right_answer_passes_and_wrong_ones_do_not(kind: NeedleKind) -> None:
    needle = make_needle(kind, "marlin", Random(5))
    close = ")" if kind == "signature" else ""
    wrong = next(str(int(digit)) for digit in needle.expected if digit.isdigit())
    changed = needle.expected.replace(wrong, str((int(wrong) + 1) % 10 or 2), 1)
    scorer = Scorer()
    verdicts = []
    for said in (needle.expected, changed, "MARLIN_RATE + 1"):
        answer = needle.answer_in(f"{said}{close}  # so it is\n")
        verdicts.append(answer is not None and scorer.score(*needle.order(answer))[0].passed)
    assert verdicts == [True, False, False]
    assert needle.answer_in("\n") is None


def test_a_signature_may_be_written_with_other_quotes() -> None:
    needle = make_needle("signature", "marlin", Random(5))
    answer = needle.answer_in(needle.expected.replace("'", '"') + "):")
    assert answer is not None
    assert Scorer().score(*needle.order(answer))[0].passed


@pytest.mark.parametrize(
    "text", ["", "sparse", "trishape", "trishape:32", "trishape:10:64", "trishape:32:0", "dense:1"]
)
def test_what_is_no_attention_is_refused(text: str) -> None:
    with pytest.raises(EvaluationError):
        parse_attention(text)


def test_an_attention_is_written_as_it_is_read() -> None:
    texts = ("dense", "xattention", "trishape:128:1024")
    assert [parse_attention(text).label for text in texts] == list(texts)
