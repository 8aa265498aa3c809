"""The client against a scripted HTTP server on a real socket: what is sent, read, retried and cancelled."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import anyio
import pytest

import codex
from codex.client import AsyncCodexClient, CodexClient, SecurityLevelIgnored
from codex.errors import ClientError, ConnectionFailed, ResponseTimeout
from codex.types import Message, SourceFile, Usage

USAGE = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
ANSWER = {"choices": [{"text": "return 1", "index": 0, "finish_reason": "stop"}], "usage": USAGE}


def event(text: str, finish: str | None = None) -> dict[str, Any]:
    return {"choices": [{"text": text, "index": 0, "finish_reason": finish}]}


@dataclass
class Reply:
    """One answer: a JSON body, or events with the seconds to wait before each."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    events: list[tuple[float, Any]] | None = None
    before: Callable[[], object] = lambda: None


class Server:
    """Answers with the replies in order, the last one again and again."""

    def __init__(self, replies: list[Reply]) -> None:
        self.replies = replies
        self.seen: list[tuple[str, dict[str, str], Any]] = []
        self.left = threading.Event()
        self.url = ""

    def next_reply(self) -> Reply:
        return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]


@contextmanager
def serving(*replies: Reply) -> Iterator[Server]:
    server = Server(list(replies))

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._answer(None)

        def do_POST(self) -> None:
            self._answer(json.loads(self.rfile.read(int(self.headers["content-length"]))))

        def _answer(self, body: Any) -> None:
            server.seen.append((self.path, {k.lower(): v for k, v in self.headers.items()}, body))
            reply = server.next_reply()
            reply.before()
            try:
                self._send(reply)
            except OSError:
                server.left.set()

        def _send(self, reply: Reply) -> None:
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            if reply.events is None:
                content = json.dumps(reply.body).encode()
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)
                return
            self.send_header("content-type", "text/event-stream")
            self.send_header("connection", "close")
            self.close_connection = True
            self.end_headers()
            for pause_s, data in reply.events:
                time.sleep(pause_s)
                shown = data if isinstance(data, str) else json.dumps(data)
                self.wfile.write(f"data: {shown}\n\n".encode())
                self.wfile.flush()

        def log_message(self, format: str, *args: Any) -> None:
            """Silence: the tests look at what was seen."""

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = True
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    server.url = f"http://127.0.0.1:{http.server_port}"
    try:
        yield server
    finally:
        http.shutdown()
        thread.join()
        http.server_close()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


ENDLESS: list[tuple[float, Any]] = [(0.0, event("a")), *[(0.02, event("b"))] * 500]


def test_public_names_are_exactly_these() -> None:
    expected = {
        "AsyncCodexClient",
        "AsyncCompletionStream",
        "Chunk",
        "ClientError",
        "CodexClient",
        "CodexError",
        "Completion",
        "CompletionStream",
        "ConnectionFailed",
        "Message",
        "ResponseTimeout",
        "SecurityLevelIgnored",
        "SourceFile",
        "Usage",
        "__version__",
    }
    assert set(codex.__all__) == expected
    assert {name for name in expected if getattr(codex, name, None) is None} == set()
    assert codex.CodexClient is CodexClient


def test_sync_and_async_clients_have_the_same_surface() -> None:
    import inspect

    def surface(kind: type) -> dict[str, list[str]]:
        names = [name for name in vars(kind) if not name.startswith("_")] + ["__init__"]
        return {
            name.removeprefix("a") if name == "aclose" else name: list(
                inspect.signature(getattr(kind, name)).parameters
            )
            for name in names
        }

    assert surface(AsyncCodexClient) == surface(CodexClient)


def test_completion_is_read_by_attribute_and_by_name() -> None:
    headers = {"x-codex-release": "r1", "x-request-id": "q1"}
    with serving(Reply(body=ANSWER, headers=headers)) as server, CodexClient(server.url) as client:
        answer = client.complete("def f():\n    ")
    assert answer.text == answer["text"] == "return 1"
    assert (answer.finish_reason, answer.release, answer.request_id) == ("stop", "r1", "q1")
    assert answer.usage == Usage(3, 2)
    assert answer.truncated_tokens == 0
    with pytest.raises(KeyError):
        answer["nothing"]


def test_an_answer_cut_by_the_servers_clock_says_timeout() -> None:
    cut = {"choices": [{"text": "re", "finish_reason": "length"}], "codex": {"stopped_by": "timeout"}}
    with serving(Reply(body=cut), Reply(events=[(0, cut)])) as server:
        with CodexClient(server.url) as client:
            assert client.complete("p").finish_reason == "timeout"
        with CodexClient(server.url, streaming=True) as client_of_chunks:
            assert [chunk.finish_reason for chunk in client_of_chunks.complete("p")] == ["timeout"]


def test_only_fields_that_were_given_are_sent() -> None:
    with serving(Reply(body=ANSWER)) as server, CodexClient(server.url + "/v1/", api_key="k") as client:
        client.complete("p")
        client.complete(
            "p",
            suffix="",
            temperature=0.0,
            stop=["\n"],
            context_files=[SourceFile("a.py", "x = 1")],
            timeout=9,
        )
    (path, headers, first), (_, _, second) = server.seen
    assert (path, headers["authorization"], first) == ("/v1/completions", "Bearer k", {"prompt": "p"})
    assert second == {
        "prompt": "p",
        "suffix": "",
        "temperature": 0.0,
        "stop": ["\n"],
        "context_files": [{"path": "a.py", "text": "x = 1"}],
        "timeout": 9,
    }


def test_chat_answer_is_the_next_message() -> None:
    reply = {"choices": [{"message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}]}
    with serving(Reply(body=reply)) as server, CodexClient(server.url) as client:
        answer = client.chat([Message("user", "hello"), {"role": "user", "content": "there"}])
    assert answer.message == Message("assistant", "hi")
    assert server.seen[0][2]["messages"] == [
        {"role": "user", "content": "hello"},
        {"role": "user", "content": "there"},
    ]


def test_stream_hands_over_chunks_and_gathers_the_whole() -> None:
    events: list[tuple[float, Any]] = [
        (0, event("ret")),
        (0, event("urn")),
        (0, event("", "length")),
        (0, {"choices": [], "usage": USAGE}),
        (0, "[DONE]"),
    ]
    headers = {"x-codex-release": "r1", "x-codex-truncated-tokens": "7"}
    with (
        serving(Reply(events=events, headers=headers)) as server,
        CodexClient(server.url, streaming=True) as client,
        client.complete("p") as stream,
    ):
        chunks = list(stream)
    assert [chunk["text"] for chunk in chunks] == ["ret", "urn", ""]
    assert chunks[-1].finish_reason == "length"
    assert (stream.text, stream.finish_reason, stream.release) == ("return", "length", "r1")
    assert stream.usage == Usage(3, 2, 7)
    assert server.seen[0][2]["stream_options"] == {"include_usage": True}


def test_chat_stream_reads_deltas_of_other_servers() -> None:
    events: list[tuple[float, Any]] = [
        (0, {"choices": [{"delta": {"role": "assistant"}, "index": 0}]}),
        (0, {"choices": [{"delta": {"content": "hi"}, "index": 0}]}),
        (0, {"choices": [{"delta": {}, "finish_reason": "stop", "index": 0}]}),
        (0, "[DONE]"),
    ]
    with serving(Reply(events=events)) as server, CodexClient(server.url, streaming=True) as client:
        assert "".join(chunk.text for chunk in client.chat([Message("user", "x")])) == "hi"


def test_a_silent_server_gives_idle_chunks_and_no_text_is_lost() -> None:
    events = [(0.0, event("a")), (0.3, event("b")), (0.0, event("", "stop"))]
    with (
        serving(Reply(events=events)) as server,
        CodexClient(server.url, streaming=True, chunk_timeout=20) as client,
    ):
        chunks = list(client.complete("p"))
    assert "".join(chunk.text for chunk in chunks) == "ab"
    assert any(chunk.idle and not chunk.text for chunk in chunks)
    assert not chunks[0].idle


@pytest.mark.parametrize("leave", ["close", "break", "drop"])
def test_leaving_a_stream_ends_the_connection(leave: str) -> None:
    with serving(Reply(events=ENDLESS)) as server, CodexClient(server.url, streaming=True) as client:
        stream = client.complete("p")
        assert next(stream).text == "a"
        if leave == "close":
            stream.close()
            stream.close()
            assert list(stream) == []
        elif leave == "break":
            with stream:
                for _ in stream:
                    break
        else:
            del stream
        assert server.left.wait(5)


def test_another_thread_can_close_a_stream_that_waits_for_its_first_token() -> None:
    gate = threading.Event()
    reply = Reply(events=[(5.0, event("late", "stop"))])
    with serving(reply) as server, CodexClient(server.url, streaming=True) as client:
        stream = client.complete("p")
        got: list[str] = []

        def read() -> None:
            gate.set()
            got.extend(chunk.text for chunk in stream)

        reader = threading.Thread(target=read)
        reader.start()
        gate.wait()
        stream.close()
        reader.join(4)
        assert not reader.is_alive()
        assert got == []


def test_a_cut_stream_is_an_error_and_keeps_what_arrived() -> None:
    with (
        serving(Reply(events=[(0, event("half"))])) as server,
        CodexClient(server.url, streaming=True) as client,
        client.complete("p") as stream,
        pytest.raises(ClientError, match="before the answer was complete") as caught,
    ):
        list(stream)
    assert caught.value.code == "interrupted"
    assert stream.text == "half"
    assert len(server.seen) == 1


def test_an_error_inside_a_stream_carries_its_code() -> None:
    failure = {"error": {"message": "the engine died", "code": "engine_crashed", "type": "server_error"}}
    with (
        serving(Reply(events=[(0, event("x")), (0, failure)])) as server,
        CodexClient(server.url, streaming=True) as client,
        client.complete("p") as stream,
        pytest.raises(ClientError, match="the engine died") as caught,
    ):
        list(stream)
    assert caught.value.code == "engine_crashed"


def test_timeout_ends_a_stream_that_never_finishes() -> None:
    with serving(Reply(events=ENDLESS)) as server:
        with CodexClient(server.url, streaming=True, timeout=0.2) as client, pytest.raises(ResponseTimeout):
            list(client.complete("p"))
        assert server.left.wait(5)


def test_timeout_ends_an_answer_that_never_starts() -> None:
    with (
        serving(Reply(body=ANSWER, before=lambda: time.sleep(0.5))) as server,
        CodexClient(server.url) as client,
        pytest.raises(ResponseTimeout),
    ):
        client.complete("p", timeout=0.05)
    assert len(server.seen) == 1


def test_refusals_in_passing_are_tried_again_after_the_time_the_server_asks_for() -> None:
    busy = Reply(429, {"error": {"message": "full", "code": "overloaded"}}, {"retry-after": "0.01"})
    starting = Reply(
        503, {"error": {"message": "starting", "code": "engine_unavailable"}}, {"retry-after": "0"}
    )
    with serving(busy, starting, Reply(body=ANSWER)) as server, CodexClient(server.url) as client:
        assert client.complete("p").text == "return 1"
    assert len(server.seen) == 3


def test_a_stream_that_is_refused_in_passing_is_tried_again() -> None:
    busy = Reply(429, {"error": {"message": "full"}}, {"retry-after": "0"})
    whole = Reply(events=[(0, event("x", "stop"))])
    with serving(busy, whole) as server, CodexClient(server.url, streaming=True) as client:
        assert [chunk.text for chunk in client.complete("p")] == ["x"]


@pytest.mark.parametrize(
    ("status", "headers", "seen"),
    [(429, {"retry-after": "0"}, 3), (429, {"retry-after": "3600"}, 1), (400, {}, 1), (502, {}, 1)],
)
def test_refusal_reaches_the_caller_with_status_and_code(
    status: int, headers: dict[str, str], seen: int
) -> None:
    reply = Reply(status, {"error": {"message": "no", "code": "why"}}, headers)
    with (
        serving(reply) as server,
        CodexClient(server.url) as client,
        pytest.raises(ClientError, match="no") as caught,
    ):
        client.complete("p")
    assert (caught.value.status, caught.value.code) == (status, "why")
    assert len(server.seen) == seen


def test_no_server_is_named_with_what_to_do() -> None:
    url = f"http://127.0.0.1:{free_port()}"
    with CodexClient(url, max_retries=0) as client:
        with pytest.raises(ConnectionFailed, match="codex-cli serve"):
            client.complete("p")
        health = client.health()
    assert (health.alive, health.ready) == (False, False)
    assert url in health.detail


def test_a_server_of_another_kind_is_named() -> None:
    with (
        serving(Reply(body={"hello": "world"})) as server,
        CodexClient(server.url) as client,
        pytest.raises(ClientError, match="OpenAI-compatible"),
    ):
        client.models()


def test_models_and_health_are_values() -> None:
    listed = {"data": [{"id": "m", "owned_by": "codex", "context_length": 32768, "object": "model"}]}
    with serving(Reply(body=listed), Reply(body={})) as server, CodexClient(server.url) as client:
        (model,) = client.models()
        assert (model.id, model.context_length) == ("m", 32768)
        assert client.health().ready


def test_a_proxy_of_the_environment_does_not_catch_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{free_port()}")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    with serving(Reply(body=ANSWER)) as server, CodexClient(server.url) as client:
        assert client.complete("p").text == "return 1"


def test_an_unconfirmed_security_level_is_warned_of() -> None:
    confirmed = Reply(body=ANSWER, headers={"x-codex-security-level": "strict"})
    with serving(Reply(body=ANSWER), confirmed) as server, CodexClient(server.url) as client:
        with pytest.warns(SecurityLevelIgnored, match="strict"):
            client.complete("p", security_level="strict")
        client.complete("p", security_level="strict")
    assert server.seen[0][2]["security_level"] == "strict"


@pytest.mark.parametrize("wrong", [{"timeout": 0}, {"chunk_timeout": -1}, {"max_retries": -1}])
def test_senseless_limits_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"timeout|max_retries"):
        CodexClient(**wrong)


class TestAsync:
    pytestmark = pytest.mark.anyio

    async def test_completion(self) -> None:
        busy = Reply(503, {"error": {"message": "starting"}}, {"retry-after": "0"})
        with serving(busy, Reply(body=ANSWER)) as server:
            async with AsyncCodexClient(server.url) as client:
                assert (await client.complete("p"))["text"] == "return 1"
                assert (await client.health()).ready

    async def test_stream_with_idle_chunks(self) -> None:
        events = [(0.0, event("a")), (0.3, event("b")), (0.0, event("", "stop"))]
        with serving(Reply(events=events)) as server:
            async with AsyncCodexClient(server.url, streaming=True, chunk_timeout=20) as client:
                stream = await client.complete("p")
                chunks = [chunk async for chunk in stream]
        assert stream.text == "ab"
        assert any(chunk.idle for chunk in chunks)

    @pytest.mark.parametrize("leave", ["block", "cancel"])
    async def test_leaving_a_stream_ends_the_connection(self, leave: str) -> None:
        with serving(Reply(events=ENDLESS)) as server:
            async with AsyncCodexClient(server.url, streaming=True) as client:
                stream = await client.complete("p")
                if leave == "block":
                    async with stream:
                        assert (await anext(stream)).text == "a"
                else:
                    with anyio.move_on_after(0.1):
                        async for _ in stream:
                            pass
                assert await anyio.to_thread.run_sync(server.left.wait, 5)
                assert [chunk async for chunk in stream] == []

    async def test_errors_are_the_same(self) -> None:
        async with AsyncCodexClient(f"http://127.0.0.1:{free_port()}", max_retries=0) as client:
            with pytest.raises(ConnectionFailed, match="codex-cli serve"):
                await client.chat([Message("user", "x")])
        with serving(Reply(events=[(0, event("half"))])) as server:
            async with AsyncCodexClient(server.url, streaming=True) as streaming:
                with pytest.raises(ClientError, match="complete"):
                    [chunk async for chunk in await streaming.complete("p")]

    async def test_timeout_ends_a_stream(self) -> None:
        with serving(Reply(events=ENDLESS)) as server:
            async with AsyncCodexClient(server.url, streaming=True, timeout=0.2) as client:
                with pytest.raises(ResponseTimeout):
                    [chunk async for chunk in await client.complete("p")]
            assert await anyio.to_thread.run_sync(server.left.wait, 5)
