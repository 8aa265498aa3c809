"""The commands as a user types them, on the mock engine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from codex.cli.eval import COMMANDS, eval_
from codex.errors import EvaluationError
from codex.evals.local_server import local_server
from codex.settings import Settings


@pytest.fixture(scope="module")
def url() -> object:
    with local_server(Settings(backend="mock"), start_timeout_s=60) as address:
        yield address


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def run(*arguments: str | Path) -> Result:
    return CliRunner(env={"COLUMNS": "200"}).invoke(
        eval_, [str(argument) for argument in arguments], catch_exceptions=False
    )


def humaneval(url: str, out: Path, *more: str) -> dict[str, object]:
    result = run(
        "humaneval",
        "--url",
        url,
        "--limit",
        "3",
        "--prompt",
        "chat",
        "--max-tokens",
        "40",
        "--json",
        out,
        *more,
    )
    assert result.exit_code == 0, result.output
    body: dict[str, object] = json.loads(out.read_text())
    return body


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_loads_and_explains_itself(command: str) -> None:
    result = run(command, "--help")
    assert result.exit_code == 0
    assert len(result.output.splitlines()) > 5


def test_humaneval_writes_its_report_with_the_exact_configuration(url: str, tmp_path: Path) -> None:
    body = humaneval(url, tmp_path / "a.json")
    assert (body["kind"], body["pass_at_1"], body["tasks"]) == ("humaneval", 0.0, 3)
    config = body["config"]
    assert isinstance(config, dict)
    assert config["run"]["prompt"] == "chat"
    assert config["data"]["sha256"].startswith("b796127e")
    assert config["target"]["model"]["id"]


def test_two_runs_are_equal_and_compare_to_nothing(url: str, tmp_path: Path) -> None:
    first, second = humaneval(url, tmp_path / "a.json"), humaneval(url, tmp_path / "b.json")
    assert first["cases"] == second["cases"]
    result = run("compare", tmp_path / "a.json", tmp_path / "b.json")
    assert "no difference shown" in " ".join(result.output.split())


def test_resume_asks_nothing_again(url: str, tmp_path: Path) -> None:
    answers = tmp_path / "answers.jsonl"
    first = humaneval(url, tmp_path / "a.json", "--answers", str(answers))
    text = answers.read_text().replace('"outcome": "failed"', '"outcome": "passed"')
    answers.write_text(text)
    second = humaneval(url, tmp_path / "b.json", "--answers", str(answers), "--resume")
    assert (first["pass_at_1"], second["pass_at_1"]) == (0.0, 1.0)


def test_html_draws_a_written_report(url: str, tmp_path: Path) -> None:
    humaneval(url, tmp_path / "a.json")
    assert run("html", tmp_path / "a.json").exit_code == 0
    assert "<svg" in (tmp_path / "a.html").read_text()
    run("html", tmp_path / "a.json", "-o", tmp_path / "b.html")
    assert (tmp_path / "b.html").read_text() == (tmp_path / "a.html").read_text()


def test_compare_needs_two_reports(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{}")
    assert run("compare", tmp_path / "a.json").exit_code == 2
    with pytest.raises(EvaluationError):
        run("compare", tmp_path / "a.json", tmp_path / "a.json")


def test_without_a_url_our_own_server_is_started_and_ended(tmp_path: Path) -> None:
    for name in ("a", "b"):
        options = ("--backend", "mock", "--limit", "2", "--resume", "--json", tmp_path / f"{name}.json")
        result = run("humaneval", *options)
        assert result.exit_code == 0, result.output
    first, second = (json.loads((tmp_path / f"{name}.json").read_text())["config"] for name in ("a", "b"))
    assert first["target"]["settings"]["backend"] == "mock"
    assert first == second, "the answers of one server must be found again with the next one"


def test_a_server_that_cannot_start_says_why() -> None:
    settings = Settings(backend="mock", host="127.0.0.1")
    with (
        pytest.raises(EvaluationError, match="ended with status"),
        local_server(settings, start_timeout_s=60, environ={"CODEX_MAX_NUM_SEQS": "0"}),
    ):
        pass


@pytest.mark.data
@pytest.mark.parametrize(
    ("arguments", "figure"),
    [
        (("infilling", "--split", "random-span"), "pass_at_1"),
        (("infilling", "--no-cleanup"), "exact_match"),
        (("santacoder", "--language", "py"), "exact_match"),
        (("mbpp", "--prompt", "chat"), "pass_at_1"),
        (("mbpp", "--plus", "--prompt", "completion"), "pass_at_1_plus"),
        (
            ("humaneval", "--plus", "--prompt", "chat", "--samples", "5", "--temperature", "0.8"),
            "pass_at_5_plus",
        ),
    ],
)
def test_every_benchmark_runs_against_a_url(
    url: str, tmp_path: Path, data_dir: Path, arguments: tuple[str, ...], figure: str
) -> None:
    options = ("--url", url, "--data", data_dir, "--limit", "2", "--json", tmp_path / "a.json")
    result = run(*arguments, *options)
    assert result.exit_code == 0, result.output
    assert json.loads((tmp_path / "a.json").read_text())[figure] == 0.0


@pytest.mark.data
def test_selfcheck_prints_its_table(data_dir: Path) -> None:
    result = run("selfcheck", "--data-set", "humaneval", "--every", "40", "--data", data_dir)
    assert result.exit_code == 0
    assert "5/5" in result.output
    assert "0/5" in result.output
