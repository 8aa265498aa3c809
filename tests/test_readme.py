"""Runs the commands of README.md as they stand there, against a server on the mock engine."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from codex.evals.local_server import local_server
from codex.settings import Settings

README = (Path(__file__).parents[1] / "README.md").read_text()
ADDRESS = "http://127.0.0.1:8080"


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with local_server(Settings(backend="mock"), start_timeout_s=60) as address:
        yield address


def run(arguments: list[str], folder: Path, url: str) -> str:
    """Output of a command that must succeed; the environment's own commands come first in PATH."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {
        "PATH": path,
        "CODEX_URL": url,
        "CODEX_BACKEND": "mock",
        "NO_PROXY": "127.0.0.1",
    }
    done = subprocess.run(
        arguments, cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_readme_has_the_blocks_that_are_tested_here() -> None:
    assert (len(blocks("python")), len(blocks("sh"))) == (3, 2)


@pytest.mark.parametrize("code", blocks("python"))
def test_python_example_runs_and_prints(code: str, tmp_path: Path, url: str) -> None:
    assert ADDRESS in code
    assert "value_" in run([sys.executable, "-W", "error", "-c", code.replace(ADDRESS, url)], tmp_path, url)


def test_curl_example_answers(tmp_path: Path, url: str) -> None:
    if shutil.which("curl") is None:
        pytest.skip("no curl on this machine")
    (block,) = (each for each in blocks("sh") if "curl" in each)
    assert "value_" in run(["sh", "-c", block.replace(ADDRESS, url)], tmp_path, url)


def commands() -> list[str]:
    (block,) = (each for each in blocks("sh") if "codex-cli" in each)
    return [line.partition(" #")[0].strip() for line in block.splitlines()]


@pytest.mark.parametrize("command", commands())
def test_command_of_the_readme_works(command: str, tmp_path: Path, url: str) -> None:
    (tmp_path / "app.py").write_text("\n" * 20)
    if command.startswith(("codex-cli bench", "codex-cli doctor")):
        command += " --help"  # the one takes minutes, the other judges this machine
    assert run(["sh", "-c", command], tmp_path, url)


def test_make_targets_exist() -> None:
    makefile = (Path(__file__).parents[1] / "Makefile").read_text()
    targets = re.findall(r"^make (\w+)", README, re.MULTILINE)
    assert set(targets) >= {"serve", "test"}
    assert [target for target in targets if f"\n{target}:" not in makefile] == []
