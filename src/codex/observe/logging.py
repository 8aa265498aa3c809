"""Logs: one JSON line an event, on standard error. Never a prompt, an answer, or the text of a foreign error.

A foreign exception's message may quote what a user sent (pydantic, codecs and the parsers all do), so an
exception is logged as its type and the places it passed, and only our own errors keep their message.
"""

from __future__ import annotations

import logging
import sys
import traceback
from types import TracebackType
from typing import Any, TextIO

import structlog
from structlog.typing import EventDict, WrappedLogger

from codex.errors import CodexError
from codex.observe.record import Record

_FRAMES = 12
ExcInfo = tuple[type[BaseException], BaseException, TracebackType | None]


def configure_logging(level: str = "info", stream: TextIO | None = None) -> None:
    """Sends our own logs from `level` up, and those of libraries from warnings up, to `stream` (stderr)."""
    out = stream or sys.stderr
    shared: list[Any] = [
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
        _exception_without_text,
    ]
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
    )
    handler = logging.StreamHandler(out)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.JSONRenderer(),
            ],
            foreign_pre_chain=[structlog.stdlib.add_logger_name, _first_line, *shared],
        )
    )
    logging.basicConfig(handlers=[handler], level="WARNING", force=True)
    for name in ("codex", "uvicorn"):
        logging.getLogger(name).setLevel(level.upper())
    logging.captureWarnings(capture=True)


def log_request(record: Record) -> None:
    """The one line of a request that reached the pipeline."""
    structlog.get_logger("codex.request").info(
        "request",
        id=record.id,
        kind=record.kind,
        language=record.language,
        release=record.release[:12],
        status=record.status,
        finish=record.finish,
        prompt_tokens=record.prompt_tokens,
        completion_tokens=record.completion_tokens,
        truncated_tokens=record.truncated_tokens,
        queued_ms=_ms(record.queued_s),
        first_text_ms=_ms(record.first_text_s),
        duration_ms=_ms(record.duration_s),
    )


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds * 1000, 1)


def _first_line(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """asyncio puts the `repr` of a failed task, error text included, on the lines after the first."""
    event["event"] = str(event["event"]).partition("\n")[0]
    return event


def _exception_without_text(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    raised = _exc_info(event.pop("exc_info", None))
    if raised is not None:
        kind, error, trace = raised
        event["error"] = kind.__name__
        event["raised_at"] = [
            f"{frame.filename}:{frame.lineno} {frame.name}"
            for frame in traceback.extract_tb(trace)[-_FRAMES:]
        ]
        if isinstance(error, CodexError):
            event["message"] = str(error)
    return event


def _exc_info(value: object) -> ExcInfo | None:
    if isinstance(value, BaseException):
        return type(value), value, value.__traceback__
    found = value if isinstance(value, tuple) else (sys.exc_info() if value else None)
    return found if found is not None and found[0] is not None else None
