"""`codex-cli complete`: fill in at a cursor of a file, or continue what comes on stdin."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click

from codex.cli.connection import WAIT_S, server_options
from codex.client import CodexClient


@dataclass(frozen=True, slots=True)
class Gap:
    """Text before and after the place to fill. `suffix` None means: continue, there is nothing after it."""

    prefix: str
    suffix: str | None
    path: str | None = None


@click.command()
@click.argument("file", required=False, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--line", type=click.IntRange(min=1), help="Line of the cursor in FILE, from 1.")
@click.option(
    "--column", type=click.IntRange(min=1), help="Column of the cursor, from 1; default: line's end."
)
@click.option("--offset", type=click.IntRange(min=0), help="Cursor as characters from the start of FILE.")
@click.option("--suffix", help="Text after the cursor, for a prompt on stdin.")
@click.option("--language", help="Programming language; default: from the name of FILE.")
@click.option("--max-tokens", type=click.IntRange(min=1), help="Longest answer; default: the server's.")
@click.option("--temperature", type=click.FloatRange(0, 2), help="0 is greedy; default: the server's.")
@click.option("--seed", type=int, help="The same seed and prompt give the same answer.")
@click.option("--single-line", is_flag=True, help="End the answer at the end of its line.")
@click.option("--stream/--no-stream", default=True, show_default=True, help="Print pieces as they arrive.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document once the answer is whole.")
@server_options
def complete(
    file: Path | None,
    line: int | None,
    column: int | None,
    offset: int | None,
    suffix: str | None,
    stream: bool,
    as_json: bool,
    url: str,
    api_key: str | None,
    timeout: float | None,
    single_line: bool,
    **fields: Any,
) -> None:
    """Complete code at a cursor in FILE, or continue the text on stdin.

    \b
    codex-cli complete app.py --line 12
    codex-cli complete app.py --line 12 --column 5 --single-line
    printf 'def add(a, b):' | codex-cli complete --language python
    """
    gap = _gap(file, line, column, offset, suffix)
    fields |= {
        "timeout": timeout,
        "suffix": gap.suffix,
        "path": gap.path,
        "single_line": True if single_line else None,
    }
    if as_json or not stream:
        with CodexClient(url, api_key, timeout=timeout or WAIT_S) as whole:
            answer = whole.complete(gap.prefix, **fields)
        click.echo(json.dumps(asdict(answer), ensure_ascii=False) if as_json else answer.text)
        return
    with CodexClient(url, api_key, streaming=True, timeout=timeout or WAIT_S) as client:
        with client.complete(gap.prefix, **fields) as chunks:
            for chunk in chunks:
                click.echo(chunk.text, nl=False)
        click.echo()


def _gap(
    file: Path | None, line: int | None, column: int | None, offset: int | None, suffix: str | None
) -> Gap:
    if file is None:
        if (line, column, offset) != (None, None, None):
            raise click.UsageError("a cursor needs a FILE: stdin is continued at its end")
        return Gap(_stdin(), suffix)
    if suffix is not None:
        raise click.UsageError("--suffix is for stdin: in FILE the text after the cursor is the suffix")
    text = _read(file)
    cursor = cursor_offset(text, line=line, column=column, offset=offset)
    return Gap(text[:cursor], text[cursor:], file.name)


def _stdin() -> str:
    if sys.stdin.isatty():
        raise click.UsageError("name a FILE, or pipe the text to continue into this command")
    return sys.stdin.read()


def _read(file: Path) -> str:
    try:
        return file.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise click.UsageError(f"{file} is not UTF-8 text: {error.reason} at byte {error.start}") from error


def cursor_offset(text: str, *, line: int | None, column: int | None, offset: int | None) -> int:
    """Characters before the cursor. `line` and `column` count from 1; without `line` it is the text's end.

    Raises:
        click.UsageError: the text has no such place, or it was given in two ways.
    """
    if offset is not None:
        if line is not None or column is not None:
            raise click.UsageError("give the cursor as --offset or as --line and --column, not both")
        if offset > len(text):
            raise click.UsageError(
                f"--offset {offset} is behind the end: the text has {len(text)} characters"
            )
        return offset
    if line is None:
        if column is not None:
            raise click.UsageError("--column needs --line")
        return len(text)
    return _in_line(text, line, column)


def _in_line(text: str, line: int, column: int | None) -> int:
    lines = text.split("\n")
    if line > len(lines):
        raise click.UsageError(f"--line {line} is behind the end: the text has {len(lines)} lines")
    length = len(lines[line - 1].removesuffix("\r"))
    if column is not None and column > length + 1:
        raise click.UsageError(
            f"--column {column} is behind the end of line {line}, which ends at {length + 1}"
        )
    before = sum(len(each) + 1 for each in lines[: line - 1])
    return before + (length if column is None else column - 1)
