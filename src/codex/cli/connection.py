"""The options of every command that talks to a server. Knows no request."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

_Command = TypeVar("_Command", bound=Callable[..., Any])

WAIT_S = 60.0
"""How long a command waits for an answer when no --timeout was given."""

DEFAULT_URL = "http://127.0.0.1:8080"

_OPTIONS = (
    click.option(
        "--url", envvar="CODEX_URL", default=DEFAULT_URL, show_default=True, help="Server. [env: CODEX_URL]"
    ),
    click.option("--api-key", envvar="CODEX_API_KEY", help="Sent as a bearer token. [env: CODEX_API_KEY]"),
    click.option(
        "--timeout",
        type=click.FloatRange(min=0, min_open=True),
        help="Seconds for one answer, asked of the server too.  [default: 60 here, the server's own there]",
    ),
)


def server_options(command: _Command) -> _Command:
    """Adds `url`, `api_key` and `timeout` to a command."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
