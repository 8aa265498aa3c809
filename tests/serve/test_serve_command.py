"""Options of `codex-cli serve`: sizes, aliases, wrong values; which settings a server is started with."""

from __future__ import annotations

import pytest
from click.testing import CliRunner, Result

from codex.cli import cli
from codex.serve import server
from codex.settings import Settings


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Settings]:
    """Settings of each server that the command would have run."""
    settings: list[Settings] = []
    monkeypatch.setattr(server, "run", settings.append)
    return settings


def serve(*options: str) -> Result:
    return CliRunner().invoke(cli, ["serve", *options])


def test_options_win_over_the_environment(started: list[Settings], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODEX_PORT", "1111")
    monkeypatch.setenv("CODEX_QUEUE_SIZE", "5")
    monkeypatch.setenv("MAX_CONCURRENT", "9")
    assert serve("--port", "2222", "--preset", "throughput").exit_code == 0
    (settings,) = started
    assert (settings.port, settings.queue_size, settings.max_concurrent) == (2222, 5, 9)
    assert settings.preset == "throughput"


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        ("2GB", 2 << 30),
        ("512MB", 512 << 20),
        ("1.5g", 3 << 29),
        ("100000000", 100_000_000),
        ("1 GiB", 1 << 30),
    ],
)
def test_sizes_are_read_as_people_write_them(started: list[Settings], size: str, expected: int) -> None:
    assert serve("--kv-cache", size).exit_code == 0
    assert started[0].kv_cache_bytes == expected


def test_max_memory_caps_the_kv_cache_and_says_so(started: list[Settings]) -> None:
    result = serve("--max_memory", "1GB")
    assert started[0].kv_cache_bytes == 1 << 30
    assert "KV cache" in result.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--kv-cache", "much"), "2GB"),
        (("--kv-cache", "1MB"), "kv_cache_bytes"),
        (("--port", "70000"), "port"),
        (("--backend", "cloud"), "openvino"),
    ],
)
def test_a_wrong_value_is_a_usage_error(
    started: list[Settings], options: tuple[str, ...], words: str
) -> None:
    result = serve(*options)
    assert result.exit_code == 2
    assert words in result.stderr
    assert started == []
