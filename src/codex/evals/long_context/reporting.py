"""One table of all attentions by length: speed, needles, agreement, memory; and which one is safe where."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from codex.evals.journal import Record
from codex.evals.long_context.ask import READING, key_of
from codex.evals.long_context.fidelity import SpanScore
from codex.evals.long_context.haystack import Haystack
from codex.evals.long_context.needles import Needle
from codex.evals.report import Case, JsonValue, Measure, Plot, Report, Series, Table
from codex.evals.stats import binary_difference, share_interval

SAFE_KL = 0.0025
SAFE_AGREEMENT = 0.95
"""A sparse prefill may cost what INT8 weights cost, which are the default: against the 16-bit weights they
came from, 0.0012 nats on the average, 0.0024 at the worst span, 96 % of next tokens the same (0.5B)."""


@dataclass(frozen=True, slots=True)
class Row:
    """One attention at one length. What was not measured is None."""

    label: str
    length: int
    prompt_tokens: int | None
    prefill_tokens_per_s: float | None
    needles: int
    found: int
    same_answer: float | None
    p_value: float | None
    peak_bytes: int | None
    agreement: float | None
    kl: float | None
    nll_change: float | None

    @property
    def safe(self) -> bool | None:
        """The distribution moved no more than the default weights move it; None: it was not compared."""
        if self.agreement is None or self.kl is None:
            return None
        return self.kl <= SAFE_KL and self.agreement >= SAFE_AGREEMENT


Answers = Mapping[str, Mapping[str, Record]]
"""By attention label: records by key, as `ask_needles` gives them."""
Spans = Mapping[str, Sequence[SpanScore]]
"""By attention label: scores over all documents."""


def rows_of(haystacks: Sequence[Haystack], answers: Answers, spans: Spans, reference: str) -> tuple[Row, ...]:
    """By length, then in the order of `answers`; `reference` is compared with where it was measured."""
    lengths = [haystack.tokens for haystack in haystacks]
    return tuple(
        _row(label, haystack, answers[label], answers.get(reference), _near(spans.get(label, ()), lengths, i))
        for i, haystack in enumerate(haystacks)
        for label in answers
    )


def _near(spans: Sequence[SpanScore], lengths: Sequence[int], index: int) -> list[SpanScore]:
    """The spans nearest to length number `index`: above the length before it, up to this one."""
    below = lengths[index - 1] if index else 0
    return [score for score in spans if below < score.span.start <= lengths[index]]


def _row(
    label: str,
    haystack: Haystack,
    own: Mapping[str, Record],
    reference: Mapping[str, Record] | None,
    spans: Sequence[SpanScore],
) -> Row:
    keys = [key_of(haystack, needle.id) for needle in haystack.needles]
    right = [bool(own[key]["right"]) for key in keys]
    reading = own[key_of(haystack, READING)]
    tokens = reading["prompt_tokens"]
    same = p_value = None
    if reference is not None and reference is not own:
        same = sum(own[key]["text"] == reference[key]["text"] for key in keys) / len(keys)
        p_value = binary_difference([bool(reference[key]["right"]) for key in keys], right).p_value
    return Row(
        label=label,
        length=haystack.tokens,
        prompt_tokens=tokens,
        prefill_tokens_per_s=tokens / reading["first_s"] if tokens else None,
        needles=len(keys),
        found=sum(right),
        same_answer=same,
        p_value=p_value,
        peak_bytes=reading.get("peak_bytes"),
        agreement=_mean([score.agreement for score in spans]),
        kl=_mean([score.kl for score in spans]),
        nll_change=_mean([score.nll_sparse - score.nll_dense for score in spans]),
    )


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


def best_by_length(rows: Sequence[Row], reference: str) -> dict[int, str]:
    """The fastest safe attention at each length; the reference where none is both."""
    best = {}
    for length in dict.fromkeys(row.length for row in rows):
        here = [row for row in rows if row.length == length]
        dense = [row for row in here if row.label == reference]
        found = dense[0].found if dense else 0
        safe = [row for row in here if row.label == reference or (row.safe and row.found >= found)]
        if safe:
            best[length] = max(safe, key=lambda row: row.prefill_tokens_per_s or 0.0).label
    return best


def long_context_report(
    haystacks: Sequence[Haystack],
    answers: Answers,
    spans: Spans,
    config: Mapping[str, JsonValue],
    *,
    reference: str = "dense",
) -> Report:
    """Figures: `needle_accuracy` overall, and everything by attention and length."""
    rows = rows_of(haystacks, answers, spans, reference)
    needles, found = sum(row.needles for row in rows), sum(row.found for row in rows)
    figures: dict[str, JsonValue] = {
        "needle_accuracy": found / needles,
        "needle_accuracy_interval": asdict(share_interval(found, needles)),
        "attention": _figures(rows),
        "best_by_length": {str(length): label for length, label in best_by_length(rows, reference).items()},
    }
    return Report(
        "long-context",
        figures,
        config,
        _cases(haystacks, answers),
        (Measure("needle_accuracy", "binary", "right"),),
        (_by_length(rows), _by_kind(haystacks, answers)),
        (_speed_plot(rows),),
    )


def _figures(rows: Sequence[Row]) -> dict[str, JsonValue]:
    found: dict[str, JsonValue] = {}
    for label in dict.fromkeys(row.label for row in rows):
        found[label] = {
            str(row.length): {
                name: value for name, value in asdict(row).items() if name not in {"label", "length"}
            }
            for row in rows
            if row.label == label
        }
    return found


def _cases(haystacks: Sequence[Haystack], answers: Answers) -> tuple[Case, ...]:
    return tuple(
        _case(
            f"{label}/{key_of(haystack, needle.id)}", haystack, needle, records[key_of(haystack, needle.id)]
        )
        for label, records in answers.items()
        for haystack in haystacks
        for needle in haystack.needles
    )


def _case(id_: str, haystack: Haystack, needle: Needle, record: Record) -> Case:
    said = f"{record['text'][:100]!r}, right: {needle.expected!r}, at {haystack.depths[needle.id]}"
    return Case(id_, {"right": float(record["right"])}, group=needle.kind, note=said)


_COLUMNS = (
    "tokens",
    "attention",
    "prefill tok/s",
    "needles",
    "same answer",
    "p (McNemar)",
    "agreement",
    "KL, nats",
    "NLL change",
    "peak GiB",
    "safe",
)


def _by_length(rows: Sequence[Row]) -> Table:
    body = tuple(
        (
            row.prompt_tokens or row.length,
            row.label,
            _rounded(row.prefill_tokens_per_s, 1),
            f"{row.found}/{row.needles}",
            _rounded(row.same_answer, 3),
            _rounded(row.p_value, 3),
            _rounded(row.agreement, 4),
            _rounded(row.kl, 5),
            _rounded(row.nll_change, 4),
            None if row.peak_bytes is None else round(row.peak_bytes / (1 << 30), 2),
            None if row.safe is None else ("yes" if row.safe else "no"),
        )
        for row in rows
    )
    return Table("By length", _COLUMNS, body)


def _rounded(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)


def _by_kind(haystacks: Sequence[Haystack], answers: Answers) -> Table:
    kinds = list(dict.fromkeys(needle.kind for haystack in haystacks for needle in haystack.needles))
    rows: list[tuple[str | float | None, ...]] = []
    for label, records in answers.items():
        row: list[str] = []
        for kind in kinds:
            own = [
                bool(records[key_of(haystack, needle.id)]["right"])
                for haystack in haystacks
                for needle in haystack.needles
                if needle.kind == kind
            ]
            row.append(f"{sum(own)}/{len(own)}")
        rows.append((label, *row))
    return Table("Needles by kind", ("attention", *kinds), tuple(rows))


def _speed_plot(rows: Sequence[Row]) -> Plot:
    series = []
    for label in dict.fromkeys(row.label for row in rows):
        own = [row for row in rows if row.label == label and row.prefill_tokens_per_s is not None]
        x = tuple(float(row.prompt_tokens or row.length) for row in own)
        series.append(Series(label, x, tuple(float(row.prefill_tokens_per_s or 0.0) for row in own)))
    return Plot("Prefill speed", "line", tuple(series), "prompt tokens", "tokens/s")
