"""Metrics, logs and what is written down about a request. Knows no transport."""

from codex.observe.metrics import Metrics
from codex.observe.record import Record

__all__ = ["Metrics", "Record"]
