"""`codex-cli chat`: one question, or a conversation that keeps its turns. Knows no server code."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field

import click

from codex.cli.connection import WAIT_S, server_options
from codex.client import CodexClient, CompletionStream
from codex.errors import ClientError
from codex.types import Message

_HELP = "Type a question and Enter. An empty line is ignored; /new starts over, /quit or Ctrl+D leaves."


@dataclass(slots=True)
class Conversation:
    """The turns so far. `ask` sends them all; a turn that failed or was interrupted leaves no trace."""

    client: CodexClient[CompletionStream]
    system: str | None
    max_tokens: int | None
    temperature: float | None
    timeout: float | None = None
    turns: list[Message] = field(default_factory=list)

    def ask(self, question: str, show: Callable[[str], None]) -> None:
        asked = [*self.turns, Message("user", question)]
        opening = [Message("system", self.system)] if self.system else []
        with self.client.chat(
            [*opening, *asked],
            max_tokens=self.max_tokens,
            temperature=self.temperature,
            timeout=self.timeout,
        ) as chunks:
            for chunk in chunks:
                show(chunk.text)
        self.turns = [*asked, Message("assistant", chunks.text)]


@click.command()
@click.argument("question", required=False)
@click.option("--system", help="Instruction that stands before the conversation.")
@click.option(
    "--max-tokens", type=click.IntRange(min=1), default=512, show_default=True, help="Longest answer."
)
@click.option("--temperature", type=click.FloatRange(0, 2), help="0 is greedy; default: the server's.")
@server_options
def chat(
    question: str | None,
    system: str | None,
    max_tokens: int,
    temperature: float | None,
    url: str,
    api_key: str | None,
    timeout: float | None,
) -> None:
    """Ask one QUESTION, pipe one in on stdin, or talk when neither is given.

    \b
    codex-cli chat "What does functools.wraps do?"
    git diff | codex-cli chat --system "Write a commit message for this diff."
    """
    with CodexClient(url, api_key, streaming=True, timeout=timeout or WAIT_S) as client:
        conversation = Conversation(client, system, max_tokens, temperature, timeout)
        if question is None and sys.stdin.isatty():
            _talk(conversation)
            return
        asked = question if question is not None else sys.stdin.read()
        if not asked.strip():
            raise click.UsageError("there is no question: give one as an argument or on stdin")
        conversation.ask(asked, _show)
        click.echo()


def _show(text: str) -> None:
    click.echo(text, nl=False)


def _talk(conversation: Conversation) -> None:
    click.echo(_HELP)
    while (line := _next_line()) is not None:
        if line == "/new":
            conversation.turns.clear()
        elif line == "/quit":
            return
        elif line:
            _turn(conversation, line)


def _next_line() -> str | None:
    try:
        return input("\n> ").strip()
    except (EOFError, KeyboardInterrupt):
        click.echo()
        return None


def _turn(conversation: Conversation, question: str) -> None:
    """Ctrl+C ends the answer, not the conversation; so does an error, which is shown."""
    try:
        conversation.ask(question, _show)
        click.echo()
    except KeyboardInterrupt:
        click.echo("\n(interrupted: this turn is forgotten)")
    except ClientError as error:
        click.echo(f"\ncodex-cli: {error}", err=True)
