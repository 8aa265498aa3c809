"""The comparison of distributions: which tokens a sparse reading sees, and what the scores say."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from codex.engine.mock import ByteTokenizer
from codex.errors import EvaluationError
from codex.evals.journal import Journal
from codex.evals.long_context.attention import DENSE, Attention
from codex.evals.long_context.documents import Document, Plan, compare_documents, key_of, pick_documents
from codex.evals.long_context.fidelity import (
    Flags,
    Floats,
    Reader,
    Span,
    log_softmax,
    score_span,
    spans_at,
)
from codex.types import SourceFile

PORTION = 64
VOCABULARY = 16


@dataclass
class Recording:
    """What it keeps of a token depends on what was visible, as in a real one; remembers what it was asked."""

    seen: list[int] = field(default_factory=list)
    calls: list[tuple[int, int, list[int]]] = field(default_factory=list)
    readings: int = 0

    def reset(self) -> None:
        self.seen = []
        self.readings += 1

    def read(self, tokens: Sequence[int], start: int, visible: Flags) -> Floats:
        assert len(visible) == len(self.seen) + len(tokens)
        self.calls.append((start, len(tokens), np.flatnonzero(visible).tolist()))
        logits = np.zeros((len(tokens), VOCABULARY), dtype=np.float32)
        for row, token in enumerate(tokens):
            total = (
                token + int(np.asarray(self.seen)[visible[: len(self.seen)]].sum()) if self.seen else token
            )
            self.seen.append((token + total) % 13)
            logits[row, total % VOCABULARY] = 3.0
        return logits


TOKENS = [(7 * number + number // 5) % 11 for number in range(600)]
SPANS = (Span(256, 4), Span(512, 4))


def _read(attention: Attention, spans: Sequence[Span] = SPANS) -> tuple[Recording, list[Floats]]:
    model = Recording()
    return model, Reader(model, attention, PORTION).log_probs(TOKENS, spans)


def test_a_dense_reading_gives_what_reading_in_one_go_gives() -> None:
    _, found = _read(DENSE)
    whole = log_softmax(Recording().read(TOKENS, 0, np.ones(len(TOKENS), dtype=np.bool_)))
    for span, rows in zip(SPANS, found, strict=True):
        assert np.allclose(rows, whole[span.start - 1 : span.start - 1 + span.length])


def test_what_was_read_at_a_span_is_invisible_afterwards() -> None:
    model, _ = _read(DENSE)
    beside = [(start, size) for start, size, _ in model.calls if size == PORTION + 3]
    assert beside == [(192, 67), (448, 67)]
    last = model.calls[-1]
    assert last[:2] == (448, PORTION)
    assert len(last[2]) == 512


def test_trishape_sees_the_first_and_the_latest_blocks() -> None:
    model, _ = _read(Attention("trishape", 32, 64), [Span(512, 4)])
    portions = {start: visible for start, size, visible in model.calls if size == PORTION}
    assert portions[64] == list(range(128))
    assert portions[128] == [*range(32), *range(64, 192)]
    assert portions[384] == [*range(32), *range(320, 448)]


def test_the_portion_before_a_span_is_dense() -> None:
    model, _ = _read(Attention("trishape", 32, 64), [Span(512, 4)])
    (tail,) = [visible for _, size, visible in model.calls if size == PORTION + 3]
    assert tail == list(range(515))


def test_windows_wider_than_the_text_change_nothing() -> None:
    _, dense = _read(DENSE)
    _, sparse = _read(Attention("trishape", 32, 1024))
    scores = [score_span(span, TOKENS, a, b) for span, a, b in zip(SPANS, dense, sparse, strict=True)]
    assert [(score.agreement, score.kl, score.first_agrees) for score in scores] == [(1.0, 0.0, True)] * 2


def test_scores_of_known_distributions() -> None:
    dense = np.log(np.asarray([[0.5, 0.25, 0.25], [0.2, 0.6, 0.2]], dtype=np.float32))
    sparse = np.log(np.asarray([[0.25, 0.5, 0.25], [0.2, 0.6, 0.2]], dtype=np.float32))
    score = score_span(Span(1, 2), [9, 0, 1], dense, sparse)
    assert score.agreement == 0.5
    assert score.first_agrees is False
    assert score.kl == pytest.approx((0.5 * math.log(2) - 0.25 * math.log(2)) / 2, abs=1e-6)
    assert score.nll_dense == pytest.approx(-(math.log(0.5) + math.log(0.6)) / 2, abs=1e-6)
    assert score.nll_sparse == pytest.approx(-(math.log(0.25) + math.log(0.6)) / 2, abs=1e-6)
    assert score.delta_logprob == pytest.approx(math.log(2) / 2, abs=1e-6)


def test_spans_start_portions_and_do_not_overlap() -> None:
    spans = spans_at((3000, 6000), each=3, length=16, portion=128)
    starts = [span.start for span in spans]
    assert len(starts) == 6
    assert all(start % 128 == 0 and start <= 6000 for start in starts)
    assert all(b - a > 16 for a, b in pairwise(starts))
    assert max(start for start in starts if start <= 3000) == 2944


def _compare(model: Recording, path: Path, *, resume: bool) -> int:
    documents = [Document("a.py", tuple(TOKENS)), Document("b.py", tuple(TOKENS[1:]))]
    attentions = [
        DENSE,
        Attention("trishape", 32, 64),
        Attention("xattention"),
        Attention("trishape", 32, 1024),
    ]
    plan = Plan((256, 512), spans=1, span_tokens=4, portion=PORTION)
    with Journal(path, {}, resume=resume) as journal:
        found = compare_documents(model, documents, attentions, plan, journal)
    assert set(found) == {key_of(attentions[k], document) for k in (1, 3) for document in documents}
    assert all(score.kl == 0.0 for score in found[key_of(attentions[3], documents[0])])
    assert any(score.kl > 0.0 for score in found[key_of(attentions[1], documents[0])])
    return model.readings


def test_each_document_is_read_once_dense_and_once_a_sparse_attention(tmp_path: Path) -> None:
    assert _compare(Recording(), tmp_path / "a.jsonl", resume=False) == 6


def test_what_was_compared_is_not_read_again(tmp_path: Path) -> None:
    _compare(Recording(), tmp_path / "a.jsonl", resume=False)
    assert _compare(Recording(), tmp_path / "a.jsonl", resume=True) == 0


def test_documents_are_long_enough_or_refused() -> None:
    sources = [SourceFile(f"{size}.py", "x" * size) for size in (100, 1000, 5000, 9000)]
    found = pick_documents(sources, ByteTokenizer(), tokens=1500, count=2, seed=0)
    assert {document.path for document in found} == {"5000.py", "9000.py"}
    with pytest.raises(EvaluationError, match="only 2 files"):
        pick_documents(sources, ByteTokenizer(), tokens=1500, count=3, seed=0)
