"""`codex-cli model` on a folder of its own, with a tiny real model."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from codex.cli import cli, main
from codex.engine.models import CATALOGUE, PreparedModel, prepare


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory, tiny_gguf: Callable[..., Path]) -> PreparedModel:
    folder = tmp_path_factory.mktemp("cli-model")
    return prepare(str(tiny_gguf(folder / "tiny.gguf")), models_dir=folder / "models", quant="int8")


@pytest.fixture
def models_dir(pristine: PreparedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the commands see: a copy with one prepared model."""
    folder = tmp_path / "models"
    shutil.copytree(pristine.path.parent, folder)
    monkeypatch.setenv("CODEX_MODELS_DIR", str(folder))
    return folder


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["model", *arguments])


def damage(models_dir: Path) -> None:
    (weights,) = models_dir.glob("*/openvino_model.bin")
    data = weights.read_bytes()
    weights.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))


@pytest.mark.usefixtures("models_dir")
def test_list_shows_what_is_ready_and_what_could_be() -> None:
    rows = {row["name"]: row for row in json.loads(run("list", "--json").stdout)}
    assert rows["tiny"]["state"] == "ready"
    assert rows["tiny"]["quant"] == "int8"
    assert {name for name, row in rows.items() if row["state"] == "not prepared"} == set(CATALOGUE)
    table = run("list")
    assert table.exit_code == 0
    assert all(name in table.stdout for name in ("tiny", *CATALOGUE))


def test_pull_prepares_a_file_and_prints_where(
    models_dir: Path, tiny_gguf: Callable[..., Path], tmp_path: Path
) -> None:
    path = tiny_gguf(tmp_path / "other.gguf", seed=1)
    result = run("pull", str(path), "--quant-mode", "int4", "--json")
    facts = json.loads(result.stdout)
    assert (facts["name"], facts["quant"]) == ("other", "int4")
    assert Path(facts["path"]).parent == models_dir
    assert "ready" in run("pull", str(path), "--quant-mode", "int4").stdout


def test_verify_succeeds_on_what_is_whole(models_dir: Path) -> None:
    result = run("verify")
    assert result.exit_code == 0
    assert "as it should be" in result.stdout
    assert json.loads(run("verify", "tiny", "--json").stdout) == {"tiny": ""}
    assert models_dir.is_dir()


def test_verify_fails_with_the_file_and_both_digests(models_dir: Path) -> None:
    damage(models_dir)
    result = run("verify", "tiny")
    assert result.exit_code == 1
    assert "openvino_model.bin" in result.stdout
    assert result.stdout.count("sha256") == 1
    assert "expected" in result.stdout


@pytest.mark.usefixtures("models_dir")
def test_verify_of_an_unknown_name_fails() -> None:
    result = run("verify", "nothing")
    assert result.exit_code == 1
    assert "nothing named 'nothing'" in result.stdout


def test_remove_frees_the_folder(models_dir: Path) -> None:
    freed = json.loads(run("remove", "tiny", "--json").stdout)["freed_bytes"]
    assert freed > 100_000
    assert not list(models_dir.glob("tiny*"))


@pytest.mark.usefixtures("models_dir")
@pytest.mark.parametrize("arguments", [("pull", "no-such"), ("remove", "no-such")])
def test_an_error_of_ours_is_one_line_and_exit_status_1(
    arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["codex-cli", "model", *arguments])
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == 1
    (line,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("codex-cli: ")]
    assert "'no-such'" in line
