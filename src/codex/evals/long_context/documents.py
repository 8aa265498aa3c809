"""Compares attentions on whole real files: a dense reading of each, then the sparse ones. Knows no report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from random import Random

from codex.errors import EvaluationError
from codex.evals.journal import Journal, Record
from codex.evals.long_context.attention import DENSE, Attention
from codex.evals.long_context.fidelity import LogitModel, Reader, Span, SpanScore, score_span, spans_at
from codex.types import SourceFile, Tokenizer

ENGINE_PORTION = 128
"""Tokens that the engine reads in one step when its attention is sparse."""


@dataclass(frozen=True, slots=True)
class Document:
    path: str
    tokens: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """`spans` places of `span_tokens` tokens each are compared up to every one of `lengths`."""

    lengths: tuple[int, ...]
    spans: int
    span_tokens: int = 16
    portion: int = ENGINE_PORTION

    def places(self) -> tuple[Span, ...]:
        return spans_at(self.lengths, each=self.spans, length=self.span_tokens, portion=self.portion)

    @property
    def reading(self) -> int:
        """Tokens of one reading of one document."""
        return max(span.start for span in self.places())


def pick_documents(
    sources: Sequence[SourceFile], tokenizer: Tokenizer, *, tokens: int, count: int, seed: int
) -> tuple[Document, ...]:
    """`count` files of at least `tokens` tokens, drawn with `seed`.

    Raises EvaluationError: there are not so many.
    """
    order = [source for source in sources if len(source.text) > 3 * tokens]
    Random(seed).shuffle(order)
    found: list[Document] = []
    for source in order:
        if len(found) == count:
            break
        ids = tokenizer.encode(source.text)
        if len(ids) >= tokens:
            found.append(Document(source.path, tuple(ids)))
    if len(found) < count:
        raise EvaluationError(
            f"only {len(found)} files have {tokens} tokens: ask for fewer documents or shorter lengths"
        )
    return tuple(found)


def key_of(attention: Attention, document: Document) -> str:
    return f"{attention.label}/{document.path}"


def compare_documents(
    model: LogitModel,
    documents: Sequence[Document],
    attentions: Sequence[Attention],
    plan: Plan,
    journal: Journal,
    tick: Callable[[int], None] = lambda _: None,
) -> dict[str, tuple[SpanScore, ...]]:
    """Scores of each sparse attention on each document. What is in the journal is not read again.

    Only `trishape` can be followed on the model: what XATTENTION leaves out, its kernel alone knows.
    """
    spans = plan.places()
    for document in documents:
        todo = [a for a in attentions if a.kind == "trishape" and key_of(a, document) not in journal.done]
        if not todo:
            continue
        dense = Reader(model, DENSE, plan.portion).log_probs(document.tokens, spans, tick)
        for attention in todo:
            sparse = Reader(model, attention, plan.portion).log_probs(document.tokens, spans, tick)
            pairs = zip(spans, dense, sparse, strict=True)
            scores = [score_span(span, document.tokens, a, b) for span, a, b in pairs]
            journal.append(key_of(attention, document), {"spans": [asdict(score) for score in scores]})
    return {
        key_of(a, document): _scores(journal.done[key_of(a, document)])
        for document in documents
        for a in attentions
        if a.kind == "trishape"
    }


def _scores(record: Record) -> tuple[SpanScore, ...]:
    return tuple(SpanScore(**{**score, "span": Span(**score["span"])}) for score in record["spans"])
