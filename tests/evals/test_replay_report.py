"""Figures from rows, sinks for events, and the command from end to end."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from click.testing import CliRunner

from codex.cli.evals.replay import replay_
from codex.errors import EvaluationError
from codex.evals.replay import EditRow, Outcome, ReplayResult, RequestEvent, open_sink
from codex.evals.replay.metrics import figures_of, summary
from codex.evals.replay.reporting import markdown, report_of
from codex.evals.replay.sinks import FeedbackSink
from codex.evals.report import figure, read_json, to_json

ROWS = (
    EditRow(
        "a.py:1", "a.py", "python", characters=40, lines=2, saved=10, accepted_characters=12, partial_saved=4,
        fired=10, debounced=5, answered=4, superseded=5, not_sent=1, shown=4, accepted=2, lines_asked=2,
        lines_exact=1, prompt_tokens=100, completion_tokens=20, virtual_ms=60_000.0,
        visible_ms=[40.0, 60.0, 100.0, 200.0], answered_ms=[40.0, 60.0, 100.0, 200.0], waited_ms=[50.0] * 5,
    ),
    EditRow("b.go:1", "b.go", "go", characters=60, lines=1, fired=2, superseded=2, waited_ms=[30.0, 30.0]),
)  # fmt: skip


def event(**given: Any) -> RequestEvent:
    values: dict[str, Any] = {"edit": "a.py:1", "path": "a.py", "language": "python", "at_ms": 75.0}
    values |= {"keys": 0, "prefix": "x", "suffix": "", "status": "answered", "answer": "y", "latency_ms": 5.0}
    values |= {"request_id": "r1", "outcome": Outcome.ACCEPTED, "final_text": "y"}
    return RequestEvent(**(values | given))


def test_every_share_is_a_ratio_of_sums() -> None:
    figures = summary(ROWS)
    assert figures["characters_saved_share"] == 10 / 100
    assert figures["partial_saved_share"] == 4 / 100
    assert figures["shown_rate"] == 4 / 12
    assert figures["acceptance_rate"] == 2 / 4
    assert figures["exact_match"] == 1 / 2
    assert figures["answered_within_50_ms_share"] == 1 / 12
    assert figures["answered_within_100_ms_share"] == 3 / 12
    assert figures["engine_tokens_per_accepted_character"] == 120 / 12
    assert (figures["requests_cancelled"], figures["requests_not_sent"]) == (8, 1)
    assert figures["latency_ms"] == {"p50": 80.0, "p95": pytest.approx(185.0), "p99": pytest.approx(197.0)}


def test_figures_stand_by_language_and_by_file_too() -> None:
    figures: dict[str, Any] = dict(figures_of(ROWS))
    assert figures["by_language"]["python"]["characters_saved_share"] == 10 / 40
    assert figures["by_file"]["b.go"]["acceptance_rate"] is None


def test_superseded_requests_count_as_slower_than_the_time_they_got() -> None:
    seen = EditRow("a:1", "a", "go", 1, 1, answered_ms=[10.0, 100.0], waited_ms=[50.0] * 2)
    assert summary([seen])["latency_all_ms"] == {"p50": 100.0, "p95": 100.0, "p99": 100.0}
    hidden = EditRow("a:1", "a", "go", 1, 1, answered_ms=[10.0], waited_ms=[50.0] * 9)
    assert summary([hidden])["latency_all_ms"] == {"p50": None, "p95": None, "p99": None}


def test_a_report_holds_what_a_comparison_needs() -> None:
    report = report_of(ReplayResult(ROWS), {"seed": 1})
    for measure in report.measures:
        assert all(measure.value in case.values and measure.over in case.values for case in report.cases)
    assert figure(report, "latency_ms.p50") == 80.0
    assert "| characters saved | 10.0% |" in markdown(report.tables[0])
    assert [table.title for table in report.tables] == ["Typing replay, 2 edits", "By language", "By file"]


def test_events_are_json_lines(tmp_path: Path) -> None:
    async def write() -> None:
        async with open_sink(tmp_path / "e.jsonl") as sink:
            await sink(event())
            await sink(event(outcome=Outcome.IGNORED))

    anyio.run(write)
    lines = [json.loads(line) for line in (tmp_path / "e.jsonl").read_text().splitlines()]
    assert [line["outcome"] for line in lines] == ["accepted", "ignored"]


def send_feedback(status: int, sent: RequestEvent) -> list[dict[str, Any]]:
    bodies: list[dict[str, Any]] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        assert request.url.path == "/v1/feedback"
        bodies.append(json.loads(request.content))
        return httpx2.Response(status, json={})

    async def send() -> None:
        async with httpx2.AsyncClient(transport=httpx2.MockTransport(answer)) as client:
            await FeedbackSink(client, "http://server/v1")(sent)

    anyio.run(send)
    return bodies


def test_outcomes_go_to_the_feedback_endpoint_by_request_id() -> None:
    assert send_feedback(200, event()) == [{"request_id": "r1", "outcome": "accepted", "final_text": "y"}]
    assert send_feedback(200, event(status="superseded", request_id=None)) == []


@pytest.mark.parametrize(
    ("status", "sent", "words"),
    [
        (404, event(), "takes no feedback"),
        (422, event(), "refused an outcome"),
        (200, event(request_id=None), "sends no x-request-id"),
    ],
)
def test_a_server_that_takes_no_feedback_is_told_so(status: int, sent: RequestEvent, words: str) -> None:
    with pytest.raises(EvaluationError, match=words):
        send_feedback(status, sent)


class Handler(BaseHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        self._send(b'{"data": [{"id": "tiny", "created": 5}]}', "application/json")

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        text = "compute(2)" if body["prompt"].endswith("value = ") else "nothing"
        event = json.dumps({"choices": [{"index": 0, "text": text, "finish_reason": "stop"}]})
        self._send(f"data: {event}\n\ndata: [DONE]\n\n".encode(), "text/event-stream")

    def _send(self, body: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def url() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def versions(tmp_path: Path) -> list[str]:
    for name, text in {
        "old": "a = 1\nz = 9\n",
        "new": "a = 1\nvalue = compute(2)\nother = 3\nz = 9\n",
    }.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "m.py").write_text(text)
    return ["--from", str(tmp_path / "old"), "--to", str(tmp_path / "new")]


def test_the_command_prints_tables_and_repeats_itself_exactly(
    url: str, versions: list[str], tmp_path: Path
) -> None:
    reports = []
    for name in ("one.json", "two.json"):
        files = ["--json", str(tmp_path / name), "--rows", str(tmp_path / f"{name}l")]
        done = CliRunner().invoke(replay_, [*versions, "--url", url, "--latency", "fixed:20", *files])
        assert done.exit_code == 0, done.output
        assert "| edits |" in done.output
        reports.append(read_json(tmp_path / name))
    first, second = reports
    assert first.figures == second.figures
    assert first.cases == second.cases
    assert first.figures["edits"] == 2
    assert '"latency": "fixed:20"' in to_json(first)


def test_an_interrupted_run_goes_on_and_other_settings_are_refused(
    url: str, versions: list[str], tmp_path: Path
) -> None:
    rows = tmp_path / "rows.jsonl"
    common = [*versions, "--url", url, "--latency", "fixed:20", "--rows", str(rows)]
    assert CliRunner().invoke(replay_, common).exit_code == 0
    whole = rows.read_text()
    rows.write_text("".join(line + "\n" for line in whole.splitlines()[:2]) + '{"key": "m.py:3", "pa')
    done = CliRunner().invoke(replay_, [*common, "--resume"])
    assert done.exit_code == 0, done.output
    assert len(rows.read_text().splitlines()) == 3
    other = CliRunner().invoke(replay_, [*common, "--resume", "--seed", "2"])
    assert isinstance(other.exception, EvaluationError)


@pytest.mark.parametrize(
    "given",
    [
        [],
        ["--package", "x"],
        ["--package", "x", "--versions", "1"],
        ["--package", "x", "--versions", "1,2", "--repo", ".", "--revisions", "a,b"],
    ],
)
def test_the_two_versions_must_be_named_in_exactly_one_way(given: list[str]) -> None:
    done = CliRunner().invoke(replay_, [*given, "--url", "http://127.0.0.1:9"])
    assert done.exit_code == 2
    assert "Usage" in done.output


def test_a_latency_that_is_none_is_a_clear_error(versions: list[str]) -> None:
    done = CliRunner().invoke(replay_, [*versions, "--latency", "quick"])
    assert isinstance(done.exception, EvaluationError)
    assert "fixed:MILLISECONDS" in str(done.exception)
