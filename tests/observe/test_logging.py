"""Logs: one JSON line an event, and no text of users in any of them."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator

import pytest
import structlog

from codex.errors import Overloaded
from codex.observe import Record
from codex.observe.logging import configure_logging, log_request
from codex.types import ReleaseId, Request, TextInput

MARK = "MARKER-7f3a"


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    stream = io.StringIO()
    handlers, level = logging.root.handlers[:], logging.root.level
    configure_logging("info", stream)
    yield stream
    structlog.reset_defaults()
    logging.captureWarnings(capture=False)
    logging.root.handlers[:] = handlers
    logging.root.setLevel(level)


def lines(log: io.StringIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in log.getvalue().splitlines()]


def test_a_request_is_one_line_with_its_figures(log: io.StringIO) -> None:
    request = Request(id="r1", input=TextInput(MARK), language=MARK)
    record = Record.of(request, ReleaseId("f" * 64))
    record.prompt_tokens, record.completion_tokens = 5, 7
    log_request(record)
    (line,) = lines(log)
    assert (line["event"], line["id"], line["kind"], line["status"]) == (
        "request",
        "r1",
        "completion",
        "cancelled",
    )
    assert (line["prompt_tokens"], line["completion_tokens"], line["language"]) == (5, 7, "other")
    assert MARK not in log.getvalue()


def test_an_exception_is_its_type_and_places(log: io.StringIO) -> None:
    try:
        raise ValueError(MARK)
    except ValueError:
        structlog.get_logger("codex.test").exception("went wrong")
        logging.getLogger("library").exception("also wrong")
    ours, foreign = lines(log)
    for line in (ours, foreign):
        assert line["error"] == "ValueError"
        assert "test_logging.py" in str(line["raised_at"])
    assert MARK not in log.getvalue()


def test_our_own_errors_keep_their_message(log: io.StringIO) -> None:
    try:
        raise Overloaded("the queue is full", retry_after_s=1)
    except Overloaded:
        structlog.get_logger("codex.test").exception("refused")
    assert lines(log)[0]["message"] == "the queue is full"


def test_a_failed_task_s_repr_is_left_out(log: io.StringIO) -> None:
    message = f"Task exception was never retrieved\nfuture: <Task exception=ValueError('{MARK}')>"
    logging.getLogger("asyncio").error(message)
    assert lines(log)[0]["event"] == "Task exception was never retrieved"
    assert MARK not in log.getvalue()


def test_libraries_are_heard_from_warnings_up(log: io.StringIO) -> None:
    for name in ("codex.x", "uvicorn.error", "library"):
        logging.getLogger(name).info("chatter")
        logging.getLogger(name).warning("trouble")
    assert [line["event"] for line in lines(log)] == ["chatter", "trouble", "chatter", "trouble", "trouble"]
