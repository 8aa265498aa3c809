"""Metrics of requests: times as the client feels them, tokens, endings. Knows no transport."""

from __future__ import annotations

import time

from prometheus_client import CollectorRegistry, Counter, Histogram

from codex.observe.record import CANCELLED, OK, Record

_FIRST_TEXT_S = (0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_BETWEEN_S = (0.001, 0.005, 0.01, 0.015, 0.02, 0.025, 0.03, 0.04, 0.06, 0.1, 0.25, 0.5, 1)
_DURATION_S = (0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60)
_CONTEXT_TOKENS = (512, 2_048, 4_096, 8_192, 16_384, 32_768)
_LABELS = ("kind", "language", "release")


class RequestMetrics:
    """Fed by the pipeline: `text` for each piece that leaves, `ended` once for each request."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._first_text = Histogram(
            "codex_time_to_first_token_seconds",
            "From the arrival of a request to its first text.",
            _LABELS,
            registry=registry,
            buckets=_FIRST_TEXT_S,
        )
        self._between = Histogram(
            "codex_time_between_tokens_seconds",
            "Between two pieces of text of one request.",
            registry=registry,
            buckets=_BETWEEN_S,
        )
        self._duration = Histogram(
            "codex_request_duration_seconds",
            "From the arrival of a request to its end.",
            (*_LABELS, "status"),
            registry=registry,
            buckets=_DURATION_S,
        )
        self._queued = Histogram(
            "codex_queue_seconds", "Time before a place was free.", registry=registry, buckets=_DURATION_S
        )
        self._by_context = Histogram(
            "codex_request_duration_by_context_seconds",
            "Duration of finished requests by prompt length; the label is the upper bound in tokens.",
            ("prompt_tokens",),
            registry=registry,
            buckets=_DURATION_S,
        )
        self._tokens_in = Counter(
            "codex_prompt_tokens", "Prompt tokens read.", ("release",), registry=registry
        )
        self._tokens_out = Counter(
            "codex_completion_tokens", "Tokens generated.", ("release",), registry=registry
        )
        self._truncated = Counter(
            "codex_truncated_tokens", "Prompt tokens left out, as clients allowed.", registry=registry
        )
        self._cancelled = Counter(
            "codex_requests_cancelled", "Requests whose client left.", registry=registry
        )
        self._refused = Counter(
            "codex_requests_refused", "Requests that got an error, by its code.", ("code",), registry=registry
        )

    def text(self, record: Record) -> None:
        """A piece of text is about to leave."""
        now = time.perf_counter()
        if record.last_text_at is None:
            record.first_text_at = now
            self._first_text.labels(*_labels(record)).observe(now - record.arrived_at)
        else:
            self._between.observe(now - record.last_text_at)
        record.last_text_at = now

    def ended(self, record: Record) -> None:
        """The request is over, however it ended; `record` is complete."""
        self._duration.labels(*_labels(record), record.status).observe(record.duration_s)
        self._queued.observe(record.queued_s)
        self._tokens_in.labels(record.release).inc(record.prompt_tokens)
        self._tokens_out.labels(record.release).inc(record.completion_tokens)
        self._truncated.inc(record.truncated_tokens)
        if record.status == OK:
            self._by_context.labels(_context_label(record.prompt_tokens)).observe(record.duration_s)
        elif record.status == CANCELLED:
            self._cancelled.inc()
        else:
            self.refused(record.status)

    def refused(self, code: str) -> None:
        """A request got error `code`; for those that ended at the door, before the pipeline."""
        self._refused.labels(code).inc()


def _labels(record: Record) -> tuple[str, str, str]:
    return record.kind, record.language, record.release


def _context_label(tokens: int) -> str:
    return next((str(bound) for bound in _CONTEXT_TOKENS if tokens <= bound), "+Inf")
