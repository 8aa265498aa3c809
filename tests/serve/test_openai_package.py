"""The official `openai` package, unchanged, against the server."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import anyio
import openai
import pytest

from codex.engine.mock import MockEngine
from codex.settings import Settings
from codex.types import EngineRequest

pytestmark = pytest.mark.anyio

OnPort = Callable[..., AbstractAsyncContextManager[Any]]
Eventually = Callable[[Callable[[], bool]], Awaitable[None]]


def script(request: EngineRequest) -> str:
    return "filled" if MockEngine().tokenizer.special("<|fim_middle|>") in request.tokens else "größer"


@asynccontextmanager
async def asynchronous(
    live: OnPort, engine: MockEngine, settings: Settings | None = None
) -> AsyncGenerator[openai.AsyncOpenAI, None]:
    async with (
        live(engine, settings) as running,
        openai.AsyncOpenAI(base_url=f"{running.url}/v1", api_key="none", max_retries=0) as client,
    ):
        yield client


async def test_async_completions_with_suffix_stream_and_whole(live: OnPort) -> None:
    async with asynchronous(live, MockEngine(script)) as client:
        whole = await client.completions.create(model="mock", prompt="a", suffix="b", n=2, logprobs=1)
        stream = await client.completions.create(
            model="codex", prompt="a", stream=True, stream_options={"include_usage": True}
        )
        pieces = [piece async for piece in stream]
    assert [choice.text for choice in whole.choices] == ["filled", "filled"]
    assert whole.choices[0].logprobs is not None
    assert whole.choices[0].logprobs.tokens == list("filled")
    assert "".join(piece.choices[0].text for piece in pieces if piece.choices) == "größer"
    assert pieces[-1].usage is not None
    assert pieces[-1].usage.completion_tokens == len("größer".encode())


async def test_async_chat_stream_and_whole(live: OnPort) -> None:
    async with asynchronous(live, MockEngine(script)) as client:
        whole = await client.chat.completions.create(
            model="mock",
            messages=[{"role": "user", "content": "hi"}],
            max_completion_tokens=50,
            logprobs=True,
            top_logprobs=1,
        )
        stream = await client.chat.completions.create(
            model="mock", messages=[{"role": "user", "content": "hi"}], stream=True
        )
        text = "".join([piece.choices[0].delta.content or "" async for piece in stream])
    assert whole.choices[0].message.content == text == "größer"
    assert whole.choices[0].logprobs is not None
    assert whole.choices[0].logprobs.content is not None
    assert whole.choices[0].logprobs.content[0].top_logprobs[0].token == "g"


async def test_async_chat_stream_helper(live: OnPort) -> None:
    async with (
        asynchronous(live, MockEngine(script)) as client,
        client.chat.completions.stream(model="mock", messages=[{"role": "user", "content": "hi"}]) as stream,
    ):
        final = await stream.get_final_completion()
    assert final.choices[0].message.content == "größer"


async def test_sync_client_in_a_thread(live: OnPort) -> None:
    def work(url: str) -> tuple[list[str], str, str]:
        with openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client:
            names = [model.id for model in client.models.list()]
            whole = client.completions.create(model=names[0], prompt="x")
            stream = client.completions.create(model=names[0], prompt="x", stream=True)
            return names, whole.choices[0].text, "".join(piece.choices[0].text for piece in stream)

    async with live(MockEngine(script)) as running:
        names, whole, streamed = await anyio.to_thread.run_sync(work, running.url)
    assert names == ["mock", "codex"]
    assert whole == streamed == "größer"


async def test_errors_become_the_package_s_own(live: OnPort) -> None:
    async with asynchronous(live, MockEngine(context_length=20)) as client:
        with pytest.raises(openai.NotFoundError) as missing:
            await client.models.retrieve("gpt-5")
        with pytest.raises(openai.BadRequestError) as too_long:
            await client.completions.create(model="mock", prompt="x" * 100)
        with pytest.raises(openai.BadRequestError) as wrong:
            await client.completions.create(model="mock", prompt="x", temperature=9)
    assert missing.value.code == "model_not_found"
    assert too_long.value.code == "context_length_exceeded"
    assert (wrong.value.param, wrong.value.code) == ("temperature", "invalid_request")


async def test_a_full_server_is_a_rate_limit_to_the_package(live: OnPort, eventually: Eventually) -> None:
    engine = MockEngine(prefill_s=60)
    full = Settings(max_concurrent=1, queue_size=0)
    async with asynchronous(live, engine, full) as client, anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: client.completions.create(model="mock", prompt="x"))
        await eventually(lambda: bool(engine.seen))
        with pytest.raises(openai.RateLimitError) as refused:
            await client.completions.create(model="mock", prompt="x")
        tasks.cancel_scope.cancel()
    assert int(refused.value.response.headers["retry-after"]) >= 1


async def test_an_error_in_the_middle_of_a_stream_raises(live: OnPort) -> None:
    class Failing(MockEngine):
        async def generate(self, request: EngineRequest) -> AsyncGenerator[Any, None]:
            async for chunk in super().generate(request):
                yield chunk
                raise ZeroDivisionError

    async with asynchronous(live, Failing("ab")) as client:
        stream = await client.completions.create(model="mock", prompt="x", stream=True)
        with pytest.raises(openai.APIError, match="failed on this request"):
            async for _ in stream:
                pass
