"""`codex-cli chat`: one question, and a conversation that carries its turns."""

from __future__ import annotations

import io
from collections.abc import Iterator

import pytest
from click.testing import CliRunner

from codex.cli import chat as command
from codex.cli import cli
from codex.cli.chat import Conversation
from codex.client import CodexClient
from codex.errors import ClientError


@pytest.fixture
def conversation(mock_url: str) -> Iterator[Conversation]:
    with CodexClient(mock_url, streaming=True) as client:
        yield Conversation(client, system="Be brief.", max_tokens=8, temperature=None)


def test_a_question_as_argument_and_on_stdin_gets_an_answer(mock_url: str) -> None:
    argument = CliRunner().invoke(cli, ["chat", "hello", "--url", mock_url])
    stdin = CliRunner().invoke(cli, ["chat", "--url", mock_url], input="hello")
    assert argument.exit_code == stdin.exit_code == 0
    assert argument.output == stdin.output
    assert argument.output.startswith("value_")


def test_an_empty_question_is_refused(mock_url: str) -> None:
    result = CliRunner().invoke(cli, ["chat", "--url", mock_url], input=" \n")
    assert result.exit_code == 2
    assert "no question" in result.output


def test_turns_are_kept_and_sent_again(conversation: Conversation) -> None:
    shown: list[str] = []
    conversation.ask("one", shown.append)
    conversation.ask("two", shown.append)
    assert [turn.role for turn in conversation.turns] == ["user", "assistant", "user", "assistant"]
    assert "".join(shown) == conversation.turns[1].content + conversation.turns[3].content
    assert conversation.turns[1].content != conversation.turns[3].content


def test_a_turn_that_failed_leaves_no_trace(closed_url: str) -> None:
    with CodexClient(closed_url, streaming=True, max_retries=0) as client:
        conversation = Conversation(client, None, None, None)
        with pytest.raises(ClientError):
            conversation.ask("one", lambda _: None)
    assert conversation.turns == []


def test_talk_goes_on_until_the_input_ends(
    conversation: Conversation, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("one\n\n/new\ntwo\n"))
    command._talk(conversation)
    assert [turn.content for turn in conversation.turns if turn.role == "user"] == ["two"]
    assert capsys.readouterr().out.count("value_") == 2


def test_talk_survives_a_server_that_went_away(
    closed_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("one\n/quit\nnever asked\n"))
    with CodexClient(closed_url, streaming=True, max_retries=0) as client:
        command._talk(Conversation(client, None, None, None))
    assert "codex-cli serve" in capsys.readouterr().err
