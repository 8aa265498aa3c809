"""The road on the mock engine: order, endings, limits, cancellation, and what is written down."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, asynccontextmanager

import anyio
import pytest

from codex.engine.mock import MockEngine
from codex.errors import EngineCrashed, Overloaded, RequestError, RequestTimeout
from codex.observe import Record
from codex.pipeline import LONG_INPUT_CHARACTERS, Pipeline, merge
from codex.settings import Settings
from codex.types import (
    AnswerChunk,
    EngineChunk,
    EngineRequest,
    FimInput,
    FinishReason,
    Request,
    Sampling,
    TextInput,
)

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def road(engine: MockEngine, settings: Settings | None = None) -> AsyncGenerator[Pipeline, None]:
    await engine.start()
    try:
        yield Pipeline(engine, settings or Settings())
    finally:
        await engine.stop()


def ask(text: str = "x = ", **fields: object) -> Request:
    sampling = fields.pop("sampling", Sampling(max_tokens=100))
    return Request(id="r", input=TextInput(text), sampling=sampling, **fields)  # type: ignore[arg-type]


async def collect(pipeline: Pipeline, request: Request, record: Record | None = None) -> list[AnswerChunk]:
    async with aclosing(pipeline.stream(request, record)) as chunks:
        return [chunk async for chunk in chunks]


def text_of(chunks: list[AnswerChunk], index: int = 0) -> str:
    return "".join(chunk.text for chunk in chunks if chunk.index == index)


async def eventually(condition: Callable[[], bool]) -> None:
    with anyio.fail_after(5):
        while not condition():  # noqa: ASYNC110 - what is awaited has no event
            await anyio.sleep(0.001)


async def test_an_answer_comes_in_pieces_and_its_usage_is_counted() -> None:
    async with road(MockEngine("größe")) as pipeline:
        request = ask("abc")
        record = pipeline.record(request)
        chunks = await collect(pipeline, request, record)
    assert text_of(chunks) == "größe"
    assert len(chunks) == 6
    assert chunks[-1].finish is FinishReason.STOP
    assert (record.usage.prompt_tokens, record.usage.completion_tokens) == (3, 7)
    assert record.status == "ok"


async def test_max_tokens_ends_the_answer_with_length() -> None:
    async with road(MockEngine("abcdef")) as pipeline:
        chunks = await collect(pipeline, ask(sampling=Sampling(max_tokens=3)))
    assert (text_of(chunks), chunks[-1].finish) == ("abc", FinishReason.LENGTH)


async def test_a_stop_string_ends_the_answer_and_frees_the_engine() -> None:
    engine = MockEngine("one\ntwo\n" + "x" * 1000)
    async with road(engine) as pipeline:
        chunks = await collect(pipeline, ask(stop=("\nt",), sampling=Sampling(max_tokens=2000)))
    assert (text_of(chunks), chunks[-1].finish) == ("one", FinishReason.STOP)
    assert len(engine.cancelled) == 1


async def test_n_answers_share_the_prompt_and_differ_in_seed() -> None:
    engine = MockEngine(step_s=0.001)
    async with road(engine) as pipeline:
        request = ask(n=3, sampling=Sampling(max_tokens=100, seed=7))
        record = pipeline.record(request)
        chunks = await collect(pipeline, request, record)
    assert [seen.sampling.seed for seen in engine.seen] == [7, 8, 9]
    assert len({seen.tokens for seen in engine.seen}) == 1
    assert len({seen.id for seen in engine.seen}) == 3
    assert len({text_of(chunks, index) for index in range(3)}) == 3
    assert sorted(chunk.index for chunk in chunks if chunk.finish) == [0, 1, 2]
    assert record.usage.completion_tokens == sum(len(text_of(chunks, index)) for index in range(3))
    assert record.status == "ok"


@pytest.mark.parametrize("n", [1, 3])
async def test_closing_the_answer_frees_the_engine_and_keeps_the_count(n: int) -> None:
    engine = MockEngine("x" * 1000, step_s=0.001)
    async with road(engine) as pipeline:
        request = ask(n=n, sampling=Sampling(max_tokens=1000))
        record = pipeline.record(request)
        async with aclosing(pipeline.stream(request, record)) as chunks:
            async for _ in chunks:
                break
        assert len(engine.cancelled) == n
        assert engine.status().running == 0
        assert pipeline.admission.running == 0
    assert record.status == "cancelled"
    assert record.usage.completion_tokens >= 1


@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize("prefill_s", [0.0, 60.0], ids=["decode", "prefill"])
async def test_cancelling_the_task_frees_the_engine(n: int, prefill_s: float) -> None:
    engine = MockEngine("x" * 5000, step_s=0.001, prefill_s=prefill_s)
    async with road(engine) as pipeline:
        request = ask(n=n, sampling=Sampling(max_tokens=5000), timeout_s=100)
        record = pipeline.record(request)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(collect, pipeline, request, record)
            await eventually(lambda: engine.status().running == n)
            if not prefill_s:
                await eventually(lambda: record.completion_tokens > 0)
            tasks.cancel_scope.cancel()
        assert len(engine.cancelled) == n
        assert pipeline.admission.running == 0
    assert record.status == "cancelled"
    assert (record.completion_tokens > 0) is (prefill_s == 0)


async def test_cancel_in_the_queue_leaves_without_a_trace_in_the_engine() -> None:
    engine = MockEngine(prefill_s=60)
    async with road(engine, Settings(max_concurrent=1)) as pipeline:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(collect, pipeline, ask())
            await eventually(lambda: engine.status().running == 1)
            queued = anyio.CancelScope()

            async def wait() -> None:
                with queued:
                    await collect(pipeline, ask())

            tasks.start_soon(wait)
            await eventually(lambda: pipeline.admission.waiting == 1)
            queued.cancel()
            await eventually(lambda: pipeline.admission.waiting == 0)
            assert len(engine.seen) == 1
            tasks.cancel_scope.cancel()
        assert pipeline.admission.running == 0


async def test_a_full_queue_refuses_and_counts_the_refusal() -> None:
    engine = MockEngine(prefill_s=60)
    async with road(engine, Settings(max_concurrent=1, queue_size=0)) as pipeline:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(collect, pipeline, ask())
            await eventually(lambda: engine.status().running == 1)
            with pytest.raises(Overloaded):
                await collect(pipeline, ask())
            tasks.cancel_scope.cancel()
        assert 'codex_requests_refused_total{code="overloaded"} 1.0' in pipeline.metrics.render().decode()


async def test_time_that_runs_out_before_the_first_token_is_an_error() -> None:
    engine = MockEngine(prefill_s=60)
    async with road(engine) as pipeline:
        with pytest.raises(RequestTimeout):
            await collect(pipeline, ask(timeout_s=0.02))
    assert len(engine.cancelled) == 1


async def test_time_in_the_queue_counts() -> None:
    engine = MockEngine(prefill_s=60)
    async with road(engine, Settings(max_concurrent=1)) as pipeline, anyio.create_task_group() as tasks:
        tasks.start_soon(collect, pipeline, ask())
        await eventually(lambda: engine.status().running == 1)
        with pytest.raises(RequestTimeout, match="waited for a place"):
            await collect(pipeline, ask(timeout_s=0.02))
        tasks.cancel_scope.cancel()


@pytest.mark.parametrize("n", [1, 2])
async def test_time_that_runs_out_in_the_answer_keeps_what_there_is(n: int) -> None:
    class Stalling(MockEngine):
        async def generate(self, request: EngineRequest) -> AsyncGenerator[EngineChunk, None]:
            try:
                yield EngineChunk((97, 98))
                await anyio.sleep_forever()
            finally:
                self.cancelled.append(request.id)

    engine = Stalling()
    async with road(engine) as pipeline:
        request = ask(n=n, timeout_s=1)
        record = pipeline.record(request)
        chunks = await collect(pipeline, request, record)
    assert [chunk.finish for chunk in chunks if chunk.finish] == [FinishReason.TIMEOUT] * n
    assert [text_of(chunks, index) for index in range(n)] == ["ab"] * n
    assert len(engine.cancelled) == n
    assert record.status == "ok"


@pytest.mark.parametrize("n", [1, 2])
async def test_an_engine_that_dies_raises_its_own_error(n: int) -> None:
    class Dying(MockEngine):
        async def generate(self, request: EngineRequest) -> AsyncGenerator[EngineChunk, None]:
            yield EngineChunk((97,))
            raise EngineCrashed("gone")

    async with road(Dying()) as pipeline:
        request = ask(n=n)
        record = pipeline.record(request)
        with pytest.raises(EngineCrashed):
            await collect(pipeline, request, record)
    assert record.status == "engine_crashed"
    assert record.usage.completion_tokens >= 1


async def test_long_input_is_encoded_beside_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    where: list[str] = []
    original = anyio.to_thread.run_sync

    async def watched(*args: object, **options: object) -> object:
        where.append("thread")
        return await original(*args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(anyio.to_thread, "run_sync", watched)
    engine = MockEngine("y", context_length=1_000_000)
    async with road(engine) as pipeline:
        await collect(pipeline, ask("x"))
        assert where == []
        await collect(pipeline, ask("x" * LONG_INPUT_CHARACTERS))
    assert where == ["thread"]
    assert len(engine.seen[-1].tokens) == LONG_INPUT_CHARACTERS


async def test_a_prompt_that_does_not_fit_never_reaches_the_engine() -> None:
    engine = MockEngine(context_length=50)
    async with road(engine) as pipeline:
        with pytest.raises(RequestError, match="50"):
            await collect(pipeline, ask("x" * 60))
    assert engine.seen == []


async def test_truncation_is_told_in_the_usage() -> None:
    async with road(MockEngine(context_length=64)) as pipeline:
        request = ask("x" * 60, truncate=True, sampling=Sampling(max_tokens=16))
        record = pipeline.record(request)
        await collect(pipeline, request, record)
    assert record.usage.truncated_tokens >= 12


async def test_logprobs_cover_the_text_that_left_and_nothing_else() -> None:
    async with road(MockEngine("aäb<stop>zzz")) as pipeline:
        chunks = await collect(
            pipeline, ask(stop=("<stop>",), sampling=Sampling(max_tokens=99, logprobs=True))
        )
    tokens = [token for chunk in chunks for token in chunk.logprobs]
    assert b"".join(token.raw for token in tokens).decode() == text_of(chunks) == "aäb"
    assert [token.offset for token in tokens] == [0, 1, 1, 2]


async def test_metrics_know_kind_language_tokens_and_cancellation() -> None:
    engine = MockEngine("x" * 100, step_s=0.001)
    async with road(engine) as pipeline:
        fim = Request(id="f", input=FimInput("def f():\n    ", "\n"), language="Python", cleanup=False)
        await collect(pipeline, fim)
        async with aclosing(pipeline.stream(ask(language="cuneiform"))) as chunks:
            await anext(chunks)
        shown = pipeline.metrics.render().decode()
    release = engine.info.release
    labels = f'kind="fim",language="python",release="{release}",status="ok"'
    assert f"codex_request_duration_seconds_count{{{labels}}} 1.0" in shown
    assert 'language="other"' in shown
    assert "codex_requests_cancelled_total 1.0" in shown
    assert f'codex_completion_tokens_total{{release="{release}"}}' in shown
    assert 'codex_resident_memory_bytes{process="server"}' in shown


async def test_merge_gives_everything_and_closes_all_when_left_early() -> None:
    closed: list[int] = []

    async def numbers(start: int) -> AsyncGenerator[int, None]:
        try:
            for number in range(start, start + 3):
                await anyio.lowlevel.checkpoint()
                yield number
        finally:
            closed.append(start)

    assert sorted([item async for item in merge([numbers(0), numbers(10)])]) == [0, 1, 2, 10, 11, 12]
    closed.clear()
    async with aclosing(merge([numbers(0), numbers(10)])) as items:
        await anext(items)
    assert sorted(closed) == [0, 10]
