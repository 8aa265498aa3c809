"""Metrics of memory, of this process and of the engine's. Knows both only by process id."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from codex.types import EngineStatus


class MemoryMetrics(Collector):
    """Peaks are the kernel's own (`VmHWM`); where it keeps none, the highest value seen so far."""

    def __init__(self, engine: Callable[[], EngineStatus]) -> None:
        self._engine = engine
        self._server = psutil.Process()
        self._peaks: dict[str, int] = {}

    def collect(self) -> Iterator[Metric]:
        status = self._engine()
        resident = GaugeMetricFamily(
            "codex_resident_memory_bytes", "Resident memory of a process.", labels=("process",)
        )
        peak = GaugeMetricFamily(
            "codex_peak_memory_bytes", "Highest resident memory of a process.", labels=("process",)
        )
        server_bytes = self._server.memory_info().rss
        for name, pid, rss in (
            ("server", self._server.pid, server_bytes),
            ("engine", status.pid, status.rss_bytes),
        ):
            resident.add_metric((name,), rss)
            peak.add_metric((name,), self._peak(name, pid, rss))
        yield resident
        yield peak

    def _peak(self, name: str, pid: int | None, rss: int) -> int:
        seen = max(rss, self._peaks.get(name, 0), _kernel_peak(pid))
        self._peaks[name] = seen
        return seen


def _kernel_peak(pid: int | None) -> int:
    """Bytes, or 0 where the system does not say (not Linux, or the process is gone)."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM")), 0)
