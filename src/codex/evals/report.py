"""What an evaluation hands over: figures, cases, tables and plots as plain data, to and from JSON.

Knows no evaluation: HTML is drawn and two runs are compared from what stands in here alone.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal, cast

import msgspec
import psutil

from codex.errors import EvaluationError

SCHEMA = 1
JsonValue = str | int | float | bool | None | list[Any] | dict[str, Any]


@dataclass(frozen=True, slots=True)
class Case:
    """One task, edit or prompt. `id` pairs it with the same case of another run.

    `values` are numbers that measures are computed from; `note` is for people.
    """

    id: str
    values: Mapping[str, float]
    group: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Measure:
    """How to compute one figure from the cases, so that two runs can be compared with an interval.

    `binary`: share of cases whose value is 1. `mean`: mean of the value. `ratio`: sum of `value` over sum of
    `over`. Cases without the value are left out.
    """

    name: str
    kind: Literal["binary", "mean", "ratio"]
    value: str
    over: str | None = None
    higher_is_better: bool = True


@dataclass(frozen=True, slots=True)
class Table:
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str | float | None, ...], ...]


@dataclass(frozen=True, slots=True)
class Series:
    name: str
    x: tuple[float | str, ...]
    y: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Plot:
    """`histogram` uses `y` of each series only."""

    title: str
    kind: Literal["line", "bar", "histogram"]
    series: tuple[Series, ...]
    x_label: str = ""
    y_label: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """`figures` stand at the top level of the JSON (nested dicts allowed: `latency_ms.p50`), `config` holds
    everything that is needed to run it again."""

    kind: str
    figures: Mapping[str, JsonValue]
    config: Mapping[str, JsonValue]
    cases: tuple[Case, ...] = ()
    measures: tuple[Measure, ...] = ()
    tables: tuple[Table, ...] = ()
    plots: tuple[Plot, ...] = ()
    created: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))


_OWN_KEYS = {"schema", "kind", "created", "config", "cases", "measures", "tables", "plots"}


def to_json(report: Report) -> str:
    clash = _OWN_KEYS & set(report.figures)
    if clash:
        raise EvaluationError(f"these names are the report's own, no figure may have them: {sorted(clash)}")
    body = {"schema": SCHEMA, "kind": report.kind, "created": report.created, **report.figures}
    rest = asdict(report)
    body |= {name: rest[name] for name in ("config", "measures", "tables", "plots", "cases")}
    return json.dumps(body, indent=1, ensure_ascii=False)


def write_json(report: Report, path: Path) -> None:
    """Whole or not at all: written beside and renamed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    beside.write_text(to_json(report) + "\n")
    beside.replace(path)


def read_json(path: Path) -> Report:
    """Raises EvaluationError: no such file, or not a report of ours."""
    try:
        body = json.loads(path.read_text())
        if body.get("schema") != SCHEMA:
            raise EvaluationError(f"{path} is not a report of schema {SCHEMA}: write it again with --json")
        figures = {name: value for name, value in body.items() if name not in _OWN_KEYS}
        own = {name: value for name, value in body.items() if name in _OWN_KEYS and name != "schema"}
        return msgspec.convert(own | {"figures": figures}, type=Report)
    except (OSError, ValueError, AttributeError, msgspec.ValidationError) as error:
        raise EvaluationError(f"{path} is not a readable report: {error}") from error


def machine_config(packages: Iterable[str] = ("codex-server", "openvino-genai", "tokenizers")) -> JsonValue:
    """Where a run happened: interpreter, processor, memory and the packages that decide its result."""
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()}",
        "processor": _processor(),
        "cores": psutil.cpu_count(logical=True),
        "memory_bytes": psutil.virtual_memory().total,
        "packages": {name: _version(name) for name in packages},
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")


def figure(report: Report, name: str) -> float | None:
    """A figure by its dotted name, None where the report has none."""
    found: Any = report.figures
    for part in name.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return cast(float, found) if isinstance(found, int | float) else None
