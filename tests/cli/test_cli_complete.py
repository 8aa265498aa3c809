"""`codex-cli complete` through its public door, against a server on the mock engine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from codex.cli import cli
from codex.cli.complete import cursor_offset
from codex.errors import ConnectionFailed

TEXT = "one\ntwo\r\n\nfour"


@pytest.mark.parametrize(
    ("line", "column", "offset", "before"),
    [
        (None, None, None, TEXT),
        (None, None, 0, ""),
        (None, None, 14, TEXT),
        (1, 1, None, ""),
        (1, None, None, "one"),
        (1, 4, None, "one"),
        (2, None, None, "one\ntwo"),
        (3, None, None, "one\ntwo\r\n"),
        (4, 3, None, "one\ntwo\r\n\nfo"),
    ],
)
def test_cursor_is_where_an_editor_shows_it(
    line: int | None, column: int | None, offset: int | None, before: str
) -> None:
    assert TEXT[: cursor_offset(TEXT, line=line, column=column, offset=offset)] == before


@pytest.mark.parametrize(
    "place", [{"line": 5}, {"line": 1, "column": 5}, {"offset": 15}, {"column": 1}, {"line": 1, "offset": 1}]
)
def test_cursor_outside_the_text_is_refused(place: dict[str, int]) -> None:
    with pytest.raises(click.UsageError):
        cursor_offset(TEXT, **({"line": None, "column": None, "offset": None} | place))


def run(*arguments: str, stdin: str | None = None) -> tuple[int, str]:
    result = CliRunner().invoke(cli, ["complete", *arguments], input=stdin)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


def test_file_and_cursor_give_a_completion(tmp_path: Path, mock_url: str) -> None:
    file = tmp_path / "app.py"
    file.write_text("def f():\n    \n\nprint(f())\n")
    code, output = run(str(file), "--line", "2", "--url", mock_url)
    assert code == 0
    assert output.startswith("value_")


def test_streamed_and_whole_answers_are_the_same(mock_url: str) -> None:
    streamed = run("--url", mock_url, "--seed", "1", stdin="x = ")
    whole = run("--url", mock_url, "--seed", "1", "--no-stream", stdin="x = ")
    assert streamed == whole
    assert streamed[0] == 0


def test_json_tells_everything_about_the_answer(mock_url: str) -> None:
    code, output = run("--url", mock_url, "--json", "--max-tokens", "4", stdin="x = ")
    answer: dict[str, Any] = json.loads(output)
    assert code == 0
    assert answer["finish_reason"] == "length"
    assert answer["usage"]["completion_tokens"] == 4
    assert len(answer["release"]) == 64
    assert answer["request_id"]


def test_suffix_of_stdin_reaches_the_server(mock_url: str) -> None:
    with_suffix = run("--url", mock_url, "--suffix", "\n)", stdin="f(")
    assert with_suffix[0] == 0
    assert with_suffix != run("--url", mock_url, stdin="f(")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["--line", "2"], "needs a FILE"), (["FILE", "--suffix", "x"], "for stdin")],
)
def test_contradicting_options_are_refused(tmp_path: Path, arguments: list[str], message: str) -> None:
    file = tmp_path / "a.py"
    file.write_text("x\n")
    code, output = run(*[str(file) if each == "FILE" else each for each in arguments], stdin="")
    assert code == 2
    assert message in output


def test_a_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.bin"
    file.write_bytes(b"ab\xff")
    code, output = run(str(file))
    assert code == 2
    assert "not UTF-8" in output


def test_without_a_server_the_error_says_how_to_start_one(closed_url: str) -> None:
    with pytest.raises(ConnectionFailed, match="codex-cli serve"):
        run("--url", closed_url, "--timeout", "1", stdin="x")
