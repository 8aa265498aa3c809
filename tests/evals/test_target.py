"""The ruler: what is sent to ours and to a peer, what is read back, when it retries and when it leaves."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import anyio.lowlevel
import httpx2
import pytest

from codex.errors import ClientError, ConnectionFailed
from codex.evals.target import Target
from codex.evals.wire import Extras
from codex.types import ChatInput, FimInput, Message, Sampling, SourceFile, TextInput

pytestmark = pytest.mark.anyio


def sse(*events: dict[str, Any] | str) -> bytes:
    return b"".join(
        b"data: " + (event if isinstance(event, str) else json.dumps(event)).encode() + b"\n\n"
        for event in events
    )


def piece(text: str, finish: str | None = None) -> dict[str, Any]:
    return {"choices": [{"text": text, "finish_reason": finish}]}


USAGE = {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3}}


class Peer:
    """Answers each request with the next of `replies` and remembers what it was asked."""

    def __init__(self, *replies: httpx2.Response) -> None:
        self.replies = list(replies)
        self.bodies: list[dict[str, Any]] = []
        self.paths: list[str] = []

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.paths.append(request.url.path)
        if request.method == "GET":
            return httpx2.Response(200, json={"data": [{"id": "first", "digest": "abc"}, {"id": "second"}]})
        self.bodies.append(json.loads(request.content))
        return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]


def streamed(content: bytes, status: int = 200) -> httpx2.Response:
    return httpx2.Response(
        status, content=content, headers={"content-type": "text/event-stream", "x-release": "r1"}
    )


def target(peer: Peer, **keywords: Any) -> Target:
    return Target("http://peer.test/v1/", transport=httpx2.MockTransport(peer), **keywords)


async def test_an_answer_is_read_from_its_stream() -> None:
    peer = Peer(streamed(sse(piece("ab"), piece("c", "stop"), USAGE, "[DONE]")))
    async with target(peer) as measured:
        answer = await measured.complete(TextInput("x"), Sampling(max_tokens=5, temperature=0.0, seed=3))
    assert (answer.text, answer.finish_reason) == ("abc", "stop")
    assert (answer.prompt_tokens, answer.completion_tokens) == (7, 3)
    assert answer.ttft_s is not None
    assert 0 <= answer.ttft_s <= answer.total_s
    assert answer.headers["x-release"] == "r1"
    assert peer.paths == ["/v1/models", "/v1/completions"]
    sent = peer.bodies[0]
    assert (sent["model"], sent["prompt"], sent["seed"], sent["stream"]) == ("first", "x", 3, True)


async def test_chat_goes_to_its_own_path_and_reads_deltas() -> None:
    events = [{"choices": [{"delta": {"content": text}}]} for text in ("a", "b")]
    peer = Peer(streamed(sse(*events, "[DONE]")))
    async with target(peer, model="named") as measured:
        answer = await measured.complete(ChatInput((Message("user", "hi"),)))
    assert (answer.text, peer.paths) == ("ab", ["/v1/chat/completions"])
    assert peer.bodies[0]["messages"] == [{"role": "user", "content": "hi"}]


GAP = FimInput("a(", ")", path="m.py", repository="r", context=(SourceFile("o.py", "text"),))


async def test_ours_gets_the_gap_as_fields() -> None:
    peer = Peer(streamed(sse(piece("x", "stop"), "[DONE]")))
    async with target(peer) as measured:
        await measured.complete(GAP, extras=Extras(cleanup=False, language="python", timeout_s=9.0))
    sent = peer.bodies[0]
    assert (sent["prompt"], sent["suffix"], sent["cleanup"], sent["timeout"]) == ("a(", ")", False, 9.0)
    assert (sent["path"], sent["context_files"]) == ("m.py", [{"path": "o.py", "text": "text"}])


async def test_a_peer_gets_the_gap_as_special_tokens_and_no_field_of_ours() -> None:
    peer = Peer(streamed(sse(piece("x", "stop"), "[DONE]")))
    async with target(peer, fim="template") as measured:
        await measured.complete(
            FimInput("a(", ")"), extras=Extras(language="python", user="u", timeout_s=1.0)
        )
        await measured.complete(GAP)
    plain, repository = peer.bodies
    assert plain["prompt"] == "<|fim_prefix|>a(<|fim_suffix|>)<|fim_middle|>"
    assert repository["prompt"].startswith(
        "<|repo_name|>r\n<|file_sep|>o.py\ntext\n<|file_sep|>m.py\n<|fim_prefix|>"
    )
    assert not {"suffix", "cleanup", "language", "timeout", "user", "top_k", "single_line"} & set(plain)


async def test_until_leaves_the_stream_early() -> None:
    sent = []

    async def endless() -> AsyncIterator[bytes]:
        while True:
            sent.append(1)
            yield sse(piece("line\n"))
            await anyio.lowlevel.checkpoint()

    peer = Peer(httpx2.Response(200, content=endless(), headers={"content-type": "text/event-stream"}))
    async with target(peer, model="m") as measured:
        answer = await measured.complete(TextInput("x"), until=lambda text: text.count("\n") >= 2)
    assert (answer.text, answer.finish_reason) == ("line\nline\n", "client_stop")
    assert len(sent) == 2


async def test_a_busy_server_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("codex.evals.target.wait_exponential_jitter", lambda **_: lambda _state: 0.0)
    busy = httpx2.Response(429, json={"error": {"message": "full", "code": "overloaded"}})
    peer = Peer(busy, busy, streamed(sse(piece("ok", "stop"), "[DONE]")))
    async with target(peer, model="m") as measured:
        assert (await measured.complete(TextInput("x"))).text == "ok"
    assert len(peer.bodies) == 3


async def test_who_measures_refusals_sees_them_at_once() -> None:
    peer = Peer(httpx2.Response(429, json={"error": {"message": "full", "code": "overloaded"}}))
    async with target(peer, model="m", retries=0) as measured:
        with pytest.raises(ClientError, match="full") as refused:
            await measured.complete(TextInput("x"))
    assert (refused.value.status, refused.value.code, len(peer.bodies)) == (429, "overloaded", 1)


async def test_a_wrong_request_is_not_repeated() -> None:
    peer = Peer(httpx2.Response(400, json={"error": {"message": "no", "code": "invalid_request"}}))
    async with target(peer, model="m") as measured:
        with pytest.raises(ClientError, match="no"):
            await measured.complete(TextInput("x"))
    assert len(peer.bodies) == 1


async def test_an_error_inside_the_stream_is_an_error() -> None:
    peer = Peer(streamed(sse(piece("a"), {"error": {"message": "crashed", "code": "engine_crashed"}})))
    async with target(peer, model="m") as measured:
        with pytest.raises(ClientError, match="crashed"):
            await measured.complete(TextInput("x"))


async def test_nothing_at_the_address_is_said_so() -> None:
    async with Target("http://127.0.0.1:9", retries=0) as measured:
        with pytest.raises(ConnectionFailed, match=r"127\.0\.0\.1:9"):
            await measured.complete(TextInput("x"))
