"""Metrics of the engine and of the queue, read at the moment they are asked for. Knows neither's insides."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from codex.types import EngineState, EngineStatus


class Load(Protocol):
    """Requests that hold a place, and those that wait for one."""

    @property
    def running(self) -> int: ...

    @property
    def waiting(self) -> int: ...


class StateMetrics(Collector):
    def __init__(self, engine: Callable[[], EngineStatus], load: Load) -> None:
        self._engine = engine
        self._load = load

    def collect(self) -> Iterator[Metric]:
        status = self._engine()
        ready = status.state is EngineState.READY
        yield GaugeMetricFamily("codex_requests_running", "Requests with a place.", self._load.running)
        yield GaugeMetricFamily("codex_requests_waiting", "Requests in the queue.", self._load.waiting)
        yield GaugeMetricFamily("codex_engine_ready", "1 while the engine can answer.", int(ready))
        yield GaugeMetricFamily("codex_engine_running", "Sequences in the engine.", status.running)
        yield GaugeMetricFamily("codex_engine_waiting", "Sequences the engine holds back.", status.waiting)
        yield CounterMetricFamily(
            "codex_engine_restarts", "Times the engine was restarted.", value=status.restarts
        )
        yield GaugeMetricFamily("codex_kv_cache_bytes", "Room for the KV cache.", status.kv_cache_bytes)
        yield GaugeMetricFamily(
            "codex_kv_cache_used_ratio", "Share of the KV cache in use.", status.kv_cache_used_share
        )
