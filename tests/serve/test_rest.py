"""The OpenAI-compatible interface without a socket: fields, defaults, refusals, shapes, headers."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import anyio
import httpx2
import pytest

from codex.engine.mock import MockEngine
from codex.serve.middleware import MAX_BODY_BYTES
from codex.settings import Settings
from codex.types import EngineChunk, EngineRequest

pytestmark = pytest.mark.anyio

InProcess = Callable[..., AbstractAsyncContextManager[httpx2.AsyncClient]]
Eventually = Callable[[Callable[[], bool]], Awaitable[None]]
CHAT = {"messages": [{"role": "user", "content": "hi"}]}


async def answer(client: httpx2.AsyncClient, url: str = "/v1/completions", /, **body: Any) -> Any:
    reply = await client.post(url, json=body)
    assert reply.status_code == 200, reply.text
    return reply.json()


async def refusal(client: httpx2.AsyncClient, status: int, url: str, /, **body: Any) -> Any:
    reply = await client.post(url, json=body)
    assert reply.status_code == status, reply.text
    error = reply.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    return error


class Stalling(MockEngine):
    """One token, and then nothing."""

    async def generate(self, request: EngineRequest) -> AsyncGenerator[EngineChunk, None]:
        yield EngineChunk((97,))
        await anyio.sleep_forever()


def prompt_text(seen: EngineRequest) -> str:
    return bytes(token for token in seen.tokens if token < 256).decode()


async def test_a_completion_has_the_shape_of_openai(app_client: InProcess) -> None:
    async with app_client(MockEngine("héllo")) as client:
        reply = await answer(client, prompt="say: ", model="mock")
    assert reply["object"] == "text_completion"
    assert reply["choices"] == [{"index": 0, "text": "héllo", "logprobs": None, "finish_reason": "stop"}]
    assert reply["usage"] == {"prompt_tokens": 5, "completion_tokens": 6, "total_tokens": 11}


async def test_a_suffix_even_an_empty_one_means_fill_in(app_client: InProcess) -> None:
    engine = MockEngine("x")
    async with app_client(engine) as client:
        await answer(client, prompt="a", suffix="")
        await answer(client, prompt="a", suffix="b", path="m.py", repository="r")
        await answer(client, prompt="a")
    special = engine.tokenizer.special
    assert [special("<|fim_middle|>") in seen.tokens for seen in engine.seen] == [True, True, False]


async def test_several_prompts_keep_their_order(app_client: InProcess) -> None:
    engine = MockEngine(lambda request: prompt_text(request).upper())
    async with app_client(engine) as client:
        reply = await answer(client, prompt=["ab", "cd"], n=2)
        tokens = await answer(client, prompt=[[101], [102]])
        single = await answer(client, prompt=[101, 102], echo=True)
    assert [(each["index"], each["text"]) for each in reply["choices"]] == [
        (0, "AB"),
        (1, "AB"),
        (2, "CD"),
        (3, "CD"),
    ]
    assert [each["text"] for each in tokens["choices"]] == ["E", "F"]
    assert single["choices"][0]["text"] == "efEF"


@pytest.mark.parametrize(
    ("preset", "expected"), [("single", (128, 0.3, 0.95, 0.2)), ("throughput", (64, 0.7, 0.9, 0.5))]
)
async def test_what_a_request_leaves_out_comes_from_the_preset(
    app_client: InProcess, preset: Any, expected: tuple[float, ...]
) -> None:
    engine = MockEngine()
    async with app_client(engine, Settings(preset=preset)) as client:
        await answer(client, prompt="x")
        await answer(client, "/v1/chat/completions", **CHAT)
    for seen in engine.seen:
        sampling = seen.sampling
        found = (sampling.max_tokens, sampling.temperature, sampling.top_p, sampling.frequency_penalty)
        assert found == expected


async def test_greedy_has_no_penalty_unless_it_asks_for_one(app_client: InProcess) -> None:
    engine = MockEngine()
    async with app_client(engine) as client:
        await answer(client, prompt="x", temperature=0)
        await answer(client, prompt="x", temperature=0, frequency_penalty=0.4)
    assert [seen.sampling.frequency_penalty for seen in engine.seen] == [0.0, 0.4]


async def test_sampling_fields_reach_the_engine(app_client: InProcess) -> None:
    engine = MockEngine()
    fields: dict[str, Any] = {
        "max_tokens": 5,
        "temperature": 1.5,
        "top_p": 0.5,
        "top_k": 7,
        "presence_penalty": 1,
        "repetition_penalty": 1.1,
        "seed": -1,
    }
    async with app_client(engine) as client:
        await answer(client, prompt="x", **fields)
    sampling = engine.seen[0].sampling
    assert sampling.seed == 2**32 - 1
    for name in fields.keys() - {"seed"}:
        assert getattr(sampling, name) == fields[name]


async def test_logprobs_list_the_chosen_token_alone(app_client: InProcess) -> None:
    async with app_client(MockEngine("ab")) as client:
        completion = await answer(client, prompt="x", logprobs=3)
        plain = await answer(client, prompt="x", logprobs=0)
        chat = await answer(client, "/v1/chat/completions", **CHAT, logprobs=True, top_logprobs=2)
    assert completion["choices"][0]["logprobs"] == {
        "tokens": ["a", "b"],
        "token_logprobs": [-0.5, -0.5],
        "top_logprobs": [{"a": -0.5}, {"b": -0.5}],
        "text_offset": [0, 1],
    }
    assert plain["choices"][0]["logprobs"]["top_logprobs"] is None
    entry = {"token": "a", "logprob": -0.5, "bytes": [97]}
    assert chat["choices"][0]["logprobs"]["content"][0] == {**entry, "top_logprobs": [entry]}


async def test_chat_takes_text_parts_and_both_names_of_max_tokens(app_client: InProcess) -> None:
    engine = MockEngine("hello")
    parts = [{"type": "text", "text": "one "}, {"type": "text", "text": "two"}]
    async with app_client(engine) as client:
        reply = await answer(
            client,
            "/v1/chat/completions",
            messages=[{"role": "developer", "content": "be brief"}, {"role": "user", "content": parts}],
            max_completion_tokens=3,
        )
    assert reply["choices"][0]["message"] == {"role": "assistant", "content": "hel", "refusal": None}
    assert reply["choices"][0]["finish_reason"] == "length"
    assert "one two" in prompt_text(engine.seen[0])
    assert "be brief" in prompt_text(engine.seen[0])


@pytest.mark.parametrize(
    ("fields", "param", "code"),
    [
        ({"prompt": 5}, "prompt", "invalid_request"),
        ({"prompt": []}, "prompt", "invalid_request"),
        ({}, "prompt", "invalid_request"),
        ({"prompt": "x", "temperature": "1"}, "temperature", "invalid_request"),
        ({"prompt": "x", "temperature": 3}, "temperature", "invalid_request"),
        ({"prompt": "x", "max_tokens": 0}, "max_tokens", "invalid_request"),
        ({"prompt": "x", "n": 17}, "n", "invalid_request"),
        ({"prompt": "x", "stop": ["s"] * 17}, "stop", "invalid_request"),
        ({"prompt": "x", "stop": ""}, "stop", "invalid_request"),
        ({"prompt": "x", "best_of": 2}, "best_of", "invalid_request"),
        ({"prompt": "x", "echo": True, "logprobs": 1}, "echo", "invalid_request"),
        ({"prompt": [1], "suffix": "x"}, "suffix", "invalid_request"),
        ({"prompt": [2**31]}, "prompt", "invalid_request"),
        ({"prompt": "x", "logit_bias": {"5": 1.0}}, "logit_bias", "unsupported"),
        ({"prompt": "x" * 40_000}, None, "context_length_exceeded"),
    ],
)
async def test_a_wrong_completion_is_refused_naming_its_field(
    app_client: InProcess, fields: dict[str, Any], param: str | None, code: str
) -> None:
    async with app_client() as client:
        error = await refusal(client, 400, "/v1/completions", **fields)
    assert (error["code"], error["type"]) == (code, "invalid_request_error")
    assert param is None or error["param"] == param


@pytest.mark.parametrize(
    ("fields", "param", "code"),
    [
        ({"messages": []}, "messages", "invalid_request"),
        ({"messages": [{"role": "tool", "content": "x"}]}, "messages", "invalid_request"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "messages", "invalid_request"),
        ({**CHAT, "tools": [{"type": "function"}]}, "tools", "unsupported"),
        ({**CHAT, "response_format": {"type": "json_object"}}, "response_format", "unsupported"),
        ({**CHAT, "top_logprobs": 2}, "top_logprobs", "invalid_request"),
    ],
)
async def test_a_wrong_chat_is_refused_naming_its_field(
    app_client: InProcess, fields: dict[str, Any], param: str, code: str
) -> None:
    async with app_client() as client:
        error = await refusal(client, 400, "/v1/chat/completions", **fields)
    assert (error["param"], error["code"]) == (param, code)


@pytest.mark.parametrize(
    "body", [b"{", b"\xff\xfe", b"[" * 200_000, b"nul", b"[]", b"5", b'{"prompt": NaN}', b"", b"9" * 5000]
)
async def test_what_is_no_json_object_is_refused(app_client: InProcess, body: bytes) -> None:
    async with app_client() as client:
        reply = await client.post(
            "/v1/completions", content=body, headers={"content-type": "application/json"}
        )
    assert reply.status_code == 400
    assert reply.json()["error"]["type"] == "invalid_request_error"


@pytest.mark.parametrize("text", [r"\ud800", r"\udfff x", r"\u0000", r"\ud83d\ude00", r"\u2028"])
async def test_odd_unicode_is_answered(app_client: InProcess, text: str) -> None:
    content = f'{{"prompt": "{text}", "echo": true, "language": "{text}", "user": "{text}"}}'
    async with app_client(MockEngine("x")) as client:
        reply = await client.post(
            "/v1/completions", content=content, headers={"content-type": "application/json"}
        )
    expected = json.loads(f'"{text}"').encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    assert reply.json()["choices"][0]["text"] == expected + "x"


async def test_a_body_above_the_limit_is_413_whether_announced_or_not(app_client: InProcess) -> None:
    async def pieces() -> Any:
        for _ in range(MAX_BODY_BYTES // 65536 + 2):
            yield b"x" * 65536

    async with app_client() as client:
        announced = await client.post("/v1/completions", json={"prompt": "x" * MAX_BODY_BYTES})
        silent = await client.post(
            "/v1/completions", content=pieces(), headers={"content-type": "application/json"}
        )
    for reply in (announced, silent):
        assert reply.status_code == 413
        assert reply.json()["error"]["code"] == "body_too_large"


async def test_models_are_known_by_name_release_and_alias(app_client: InProcess) -> None:
    engine = MockEngine("x")
    async with app_client(engine) as client:
        listed = (await client.get("/v1/models")).json()
        assert [model["id"] for model in listed["data"]] == ["mock", "codex"]
        for name in ("mock", "codex", engine.info.release):
            assert (await client.get(f"/v1/models/{name}")).json()["release"] == engine.info.release
            await answer(client, prompt="x", model=name)
        error = await refusal(client, 404, "/v1/completions", prompt="x", model="gpt-5")
        assert (await client.get("/v1/models/gpt-5")).status_code == 404
    assert error["code"] == "model_not_found"
    assert "mock" in error["message"]


async def test_every_answer_names_its_request_and_its_release(app_client: InProcess) -> None:
    engine = MockEngine("x")
    async with app_client(engine) as client:
        sane = await client.post("/v1/completions", json={"prompt": "x"}, headers={"x-request-id": "a-1"})
        odd = await client.post("/v1/completions", json={"prompt": "x"}, headers={"x-request-id": "a b\t"})
        wrong = await client.post("/v1/completions", json={})
    assert sane.headers["x-request-id"] == "a-1"
    assert sane.json()["id"] == "cmpl-a-1"
    assert odd.headers["x-request-id"] not in ("", "a b", "a b\t")
    for reply in (sane, odd, wrong):
        assert reply.headers["x-codex-release"] == engine.info.release


async def test_truncation_happens_only_when_asked_and_is_told(app_client: InProcess) -> None:
    async with app_client(MockEngine("x", context_length=64)) as client:
        error = await refusal(client, 400, "/v1/completions", prompt="y" * 100, max_tokens=10)
        reply = await client.post(
            "/v1/completions", json={"prompt": "y" * 100, "max_tokens": 10, "truncate": True}
        )
    assert error["code"] == "context_length_exceeded"
    left_out = reply.json()["codex"]["truncated_tokens"]
    assert left_out >= 46
    assert reply.headers["x-codex-truncated-tokens"] == str(left_out)


async def test_a_timeout_is_408_before_and_length_within_the_answer(app_client: InProcess) -> None:
    async with app_client(MockEngine("x", prefill_s=60)) as client:
        error = await refusal(client, 408, "/v1/completions", prompt="x", timeout=0.02)
    assert error["code"] == "timeout"
    async with app_client(Stalling()) as client:
        reply = await answer(client, prompt="x", timeout=1)
    assert reply["choices"][0]["finish_reason"] == "length"
    assert reply["codex"] == {"stopped_by": "timeout"}


async def test_a_full_server_answers_429_with_retry_after(
    app_client: InProcess, eventually: Eventually
) -> None:
    engine = MockEngine("x", prefill_s=60)
    full = Settings(max_concurrent=1, queue_size=0)
    async with app_client(engine, full) as client, anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: client.post("/v1/completions", json={"prompt": "x"}))
        await eventually(lambda: bool(engine.seen))
        reply = await client.post("/v1/completions", json={"prompt": "x"})
        tasks.cancel_scope.cancel()
    assert reply.status_code == 429
    assert reply.json()["error"]["code"] == "overloaded"
    assert int(reply.headers["retry-after"]) >= 1


async def test_health_and_readiness_are_told_apart(app_client: InProcess) -> None:
    engine = MockEngine()
    async with app_client(engine) as client:
        assert (await client.get("/readyz")).json() == {"status": "ready", "release": engine.info.release}
        await engine.stop()
        assert (await client.get("/healthz")).status_code == 200
        reply = await client.get("/readyz")
        generation = await client.post("/v1/completions", json={"prompt": "x"})
    for unready in (reply, generation):
        assert unready.status_code == 503
        assert unready.headers["retry-after"] == "5"
    assert "stopped" in reply.json()["error"]["message"]


async def test_metrics_are_in_prometheus_format(app_client: InProcess) -> None:
    async with app_client() as client:
        await answer(client, prompt="x")
        await client.post("/v1/completions", json={})
        reply = await client.get("/metrics")
    assert reply.headers["content-type"].startswith("text/plain; version=")
    assert "codex_time_to_first_token_seconds_bucket" in reply.text
    assert 'codex_requests_refused_total{code="invalid_request"} 1.0' in reply.text


async def test_a_wrong_method_or_path_has_the_shape_of_an_error(app_client: InProcess) -> None:
    async with app_client() as client:
        method = await client.get("/v1/completions")
        path = await client.get("/v2")
    assert (method.status_code, method.headers["allow"]) == (405, "POST")
    assert method.json()["error"]["code"] == "method_not_allowed"
    assert (path.status_code, path.json()["error"]["code"]) == (404, "not_found")


async def test_a_foreign_error_is_500_without_its_text(app_client: InProcess) -> None:
    def broken(request: EngineRequest) -> str:
        raise ValueError("secret " + prompt_text(request))

    async with app_client(MockEngine(broken)) as client:
        reply = await client.post("/v1/completions", json={"prompt": "PROMPT"}, headers={"x-request-id": "q"})
    assert reply.status_code == 500
    assert reply.headers["x-request-id"] == "q"
    assert "PROMPT" not in reply.text
    assert reply.json()["error"]["code"] == "internal_error"
