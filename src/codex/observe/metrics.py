"""One registry, composed of groups that have a file each. Knows no transport and no engine."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from codex.observe.memory import MemoryMetrics
from codex.observe.requests import RequestMetrics
from codex.observe.state import Load, StateMetrics
from codex.types import EngineStatus


class Metrics:
    """Everything that `/metrics` shows. Each instance has a registry of its own."""

    content_type = CONTENT_TYPE_LATEST

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = RequestMetrics(self.registry)

    def watch(self, engine: Callable[[], EngineStatus], load: Load) -> None:
        """Reads the state of the engine and of the queue whenever metrics are asked for. Call it once."""
        self.registry.register(StateMetrics(engine, load))
        self.registry.register(MemoryMetrics(engine))

    def render(self) -> bytes:
        """The Prometheus text format."""
        return generate_latest(self.registry)
