"""`codex-cli doctor`: every check says what is wrong in a world made for it."""

from __future__ import annotations

import json
import socket
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import pytest
from click.testing import CliRunner

from codex.cli import cli
from codex.cli.checks import State, machine, model, network
from codex.cli.checks.topics import TOPICS
from codex.engine.models import list_prepared
from codex.settings import Settings


def of_url(url: str, **fields: Any) -> Settings:
    return Settings(port=urlsplit(url).port or 0, **fields)


@pytest.mark.parametrize(
    ("flags", "state"),
    [
        ({"avx2"}, State.WARNING),
        (set(), State.WARNING),
        ({"avx2", "avx512_vnni"}, State.OK),
        ({"avx2", "avx_vnni"}, State.OK),
    ],
)
def test_processor_tells_what_speed_to_expect(flags: set[str], state: State) -> None:
    assert machine.judge_processor(frozenset(flags), 2).state is state


def test_flags_are_read_from_cpuinfo(tmp_path: Path) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text("processor: 0\nflags\t\t: fpu avx2 avx512_vnni\n")
    assert machine.cpu_flags(cpuinfo) == {"avx2", "avx512_vnni"}
    assert machine.cpu_flags(tmp_path / "absent") == frozenset()


@pytest.mark.parametrize(
    ("free", "state"), [(8 << 30, State.OK), (2 << 30, State.WARNING), (1 << 29, State.BROKEN)]
)
def test_memory_is_compared_with_what_serving_takes(
    monkeypatch: pytest.MonkeyPatch, free: int, state: State
) -> None:
    monkeypatch.setattr("psutil.virtual_memory", lambda: SimpleNamespace(available=free))
    assert machine.memory(Settings()).state is state


@pytest.mark.parametrize(("free", "state"), [(9 << 30, State.OK), (1 << 20, State.BROKEN)])
def test_disk_is_checked_where_models_live(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, free: int, state: State
) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=free))
    assert machine.disk(Settings(models_dir=tmp_path / "not" / "there")).state is state


def test_a_missing_model_is_a_warning_and_a_wrong_name_is_broken(tmp_path: Path) -> None:
    absent = model.prepared(Settings(models_dir=tmp_path))
    assert absent.state is State.WARNING
    assert "codex-cli model pull" in absent.fix
    assert model.prepared(Settings(model="no-such", models_dir=tmp_path)).state is State.BROKEN
    assert model.prepared(Settings(model=str(tmp_path), models_dir=tmp_path)).state is State.OK


def test_a_damaged_model_is_broken(tmp_path: Path) -> None:
    folder = tmp_path / "qwen2.5-coder-0.5b"
    folder.mkdir()
    (folder / "manifest.json").write_text("{}")
    diagnosis = model._judge(list_prepared(tmp_path), Settings(models_dir=tmp_path))
    assert diagnosis.state is State.BROKEN
    assert "model remove" in diagnosis.fix


def test_a_proxy_that_catches_loopback_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HTTP_PROXY", "http://proxy.example:3128")
    assert network.proxies(Settings()).state is State.WARNING
    monkeypatch.setenv("no_proxy", "localhost,127.0.0.1")
    assert network.proxies(Settings()).state is State.OK


def test_a_server_that_is_ready_is_told_from_a_free_port(mock_url: str, closed_url: str) -> None:
    assert "ready and serves" in network.server(of_url(mock_url)).found
    free = network.server(of_url(closed_url))
    assert free.state is State.OK
    assert "codex-cli serve" in free.found


def test_a_port_that_someone_else_holds_is_broken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        settings = Settings(port=other.getsockname()[1])
        other.listen()

        def slam() -> None:
            for _ in range(3):
                other.accept()[0].close()

        threading.Thread(target=slam, daemon=True).start()
        diagnosis = network.server(settings)
    assert diagnosis.state is State.BROKEN
    assert "--port" in diagnosis.fix


def test_json_lists_every_check_and_status_follows(mock_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODEX_BACKEND", "mock")
    result = CliRunner().invoke(cli, ["doctor", "--json", "--port", str(urlsplit(mock_url).port)])
    checks = json.loads(result.output)
    assert len(checks) == 8
    assert {"name", "state", "found", "fix"} == set(checks[0])
    assert result.exit_code == int(any(each["state"] == "broken" for each in checks))


def test_unreadable_settings_are_the_diagnosis(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODEX_PORT", "eighty")
    result = CliRunner().invoke(cli, ["doctor"])
    assert result.exit_code == 1
    assert "settings" in result.output
    assert "port" in result.output


@pytest.mark.parametrize("topic", list(TOPICS))
def test_every_topic_is_explained_here_and_in_the_operations_guide(topic: str) -> None:
    result = CliRunner().invoke(cli, ["doctor", topic])
    assert result.exit_code == 0
    assert TOPICS[topic].symptom in result.output
    guide = (Path(__file__).parents[2] / "docs" / "operations.md").read_text()
    assert f"### {TOPICS[topic].symptom}\n" in guide
