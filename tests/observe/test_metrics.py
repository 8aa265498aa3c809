"""Metrics: what is counted where, and what stays bounded whatever clients send."""

from __future__ import annotations

import os

from prometheus_client.parser import text_string_to_metric_families

from codex.errors import Overloaded
from codex.observe import Metrics, Record
from codex.observe.record import language_label
from codex.types import (
    ChatInput,
    EngineState,
    EngineStatus,
    FimInput,
    FinishReason,
    Message,
    ReleaseId,
    Request,
    TextInput,
)

RELEASE = ReleaseId("a" * 64)


class Load:
    running = 3
    waiting = 4


def samples(metrics: Metrics) -> dict[str, float]:
    """Each sample as `name{label="value"}`, labels sorted."""
    families = text_string_to_metric_families(metrics.render().decode())
    return {
        sample.name + str(sorted(sample.labels.items())): sample.value
        for family in families
        for sample in family.samples
    }


def record(**fields: object) -> Record:
    return Record("r", "fim", "python", RELEASE, **fields)  # type: ignore[arg-type]


def test_the_kind_of_a_request_is_that_of_its_input() -> None:
    inputs: list[TextInput | FimInput | ChatInput]
    inputs = [TextInput("x"), FimInput("a", "b"), ChatInput((Message("user", "x"),))]
    kinds = [Record.of(Request(id="r", input=each), RELEASE).kind for each in inputs]
    assert kinds == ["completion", "fim", "chat"]


def test_languages_come_from_a_closed_set() -> None:
    names = ["Python", "TypeScript", None, "klingon", "x" * 10_000]
    assert [language_label(name) for name in names] == ["python", "typescript", "unknown", "other", "other"]


def test_a_success_counts_its_tokens_and_its_context() -> None:
    metrics = Metrics()
    done = record(prompt_tokens=3000, completion_tokens=20, truncated_tokens=5)
    metrics.requests.text(done)
    metrics.requests.text(done)
    done.finished(FinishReason.STOP)
    metrics.requests.ended(done)
    found = samples(metrics)
    release = [("release", RELEASE)]
    assert found[f"codex_prompt_tokens_total{release}"] == 3000
    assert found[f"codex_completion_tokens_total{release}"] == 20
    assert found["codex_truncated_tokens_total[]"] == 5
    assert found["codex_time_between_tokens_seconds_count[]"] == 1
    assert found["codex_request_duration_by_context_seconds_count[('prompt_tokens', '4096')]"] == 1
    labels = [("kind", "fim"), ("language", "python"), ("release", RELEASE)]
    assert found[f"codex_time_to_first_token_seconds_count{labels}"] == 1
    assert found[f"codex_request_duration_seconds_count{[*labels, ('status', 'ok')]}"] == 1


def test_cancelled_and_refused_are_counted_apart() -> None:
    metrics = Metrics()
    metrics.requests.ended(record(completion_tokens=2))
    metrics.requests.ended(record(status=Overloaded.code))
    metrics.requests.refused("invalid_request")
    found = samples(metrics)
    assert found["codex_requests_cancelled_total[]"] == 1
    assert found["codex_requests_refused_total[('code', 'overloaded')]"] == 1
    assert found["codex_requests_refused_total[('code', 'invalid_request')]"] == 1


def test_the_engine_and_the_queue_are_read_when_asked() -> None:
    metrics = Metrics()
    status = EngineStatus(EngineState.READY, running=2, restarts=1, pid=os.getpid(), rss_bytes=5)
    metrics.watch(lambda: status, Load())
    found = samples(metrics)
    assert found["codex_requests_running[]"] == 3
    assert found["codex_requests_waiting[]"] == 4
    assert found["codex_engine_ready[]"] == 1
    assert found["codex_engine_restarts_total[]"] == 1
    assert found["codex_resident_memory_bytes[('process', 'engine')]"] == 5
    peak = found["codex_peak_memory_bytes[('process', 'server')]"]
    assert peak >= found["codex_resident_memory_bytes[('process', 'server')]"] > 1e6


def test_a_dead_engine_does_not_break_the_page() -> None:
    metrics = Metrics()
    metrics.watch(lambda: EngineStatus(EngineState.RESTARTING, pid=2**22 + 1), Load())
    assert samples(metrics)["codex_engine_ready[]"] == 0
