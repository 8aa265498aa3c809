"""What surrounds the worker process: death, restart, retry, cancel. No model, a scripted worker."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

import anyio
import pytest

from codex.engine.mock import ByteTokenizer
from codex.engine.openvino import OpenVinoEngine
from codex.engine.openvino.supervisor import Patience
from codex.errors import EngineCrashed, EngineUnavailable, RequestError
from codex.types import (
    EngineChunk,
    EngineRequest,
    EngineState,
    FinishReason,
    ModelInfo,
    ReleaseId,
    Sampling,
)

pytestmark = pytest.mark.anyio

DIE_AT_ONCE, DIE_AFTER_ONE, NEVER, SLOW = 0, 1, 2, 3
INFO = ModelInfo("scripted", ReleaseId("r"), 1000, "qwen2.5-coder", "none", "openvino")
QUICK = Patience(start_s=20.0, silence_s=20.0, ready_wait_s=20.0, max_failures=3, backoff_s=0.01)


def scripted(log: Path, behaviour: str = "answer", *, patience: Patience = QUICK) -> OpenVinoEngine:
    script = Path(__file__).with_name("scripted_worker.py")
    command = (sys.executable, str(script), behaviour, str(log))
    return OpenVinoEngine(Path("."), INFO, ByteTokenizer(), patience=patience, command=command)


@asynccontextmanager
async def started(engine: OpenVinoEngine) -> AsyncIterator[OpenVinoEngine]:
    await engine.start()
    try:
        yield engine
    finally:
        await engine.stop()


def request(*tokens: int, logprobs: bool = False) -> EngineRequest:
    return EngineRequest("r", tokens, Sampling(max_tokens=16, logprobs=logprobs))


async def answer_of(engine: OpenVinoEngine, *tokens: int) -> list[EngineChunk]:
    return [chunk async for chunk in engine.generate(request(*tokens))]


async def collect(engine: OpenVinoEngine, got: list[int], *tokens: int) -> None:
    async for chunk in engine.generate(request(*tokens)):
        got += chunk.tokens


async def until(condition: Callable[[], bool]) -> None:
    with anyio.fail_after(20):
        while not condition():  # noqa: ASYNC110 - what is awaited happens in another process
            await anyio.sleep(0.01)


def worker_lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def test_chunks_carry_tokens_in_order_and_the_last_one_says_why_it_ended(tmp_path: Path) -> None:
    async with started(scripted(tmp_path / "log")) as engine:
        chunks = await answer_of(engine, 10, 11, 12)
    assert [token for chunk in chunks for token in chunk.tokens] == [10, 11, 12]
    assert [chunk.finish for chunk in chunks[:-1]] == [None] * (len(chunks) - 1)
    assert chunks[-1].finish is FinishReason.STOP


async def test_a_slow_reader_loses_nothing(tmp_path: Path) -> None:
    async with (
        started(scripted(tmp_path / "log")) as engine,
        aclosing(engine.generate(request(*range(10, 90)))) as it,
    ):
        tokens = list((await anext(it)).tokens)
        await anyio.sleep(0.3)
        rest = [chunk async for chunk in it]
    assert tokens + [token for chunk in rest for token in chunk.tokens] == list(range(10, 90))
    assert len(rest) < 79  # what had piled up came merged


async def test_a_request_of_which_nothing_was_sent_is_asked_again_by_itself(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with started(scripted(log)) as engine:
        results: list[EngineChunk] = []

        async def patient() -> None:
            results.extend(await answer_of(engine, 20, SLOW))

        async with anyio.create_task_group() as group:
            group.start_soon(patient)
            await until(lambda: "Submit" in log.read_text())
            pid = engine.status().pid
            assert pid is not None
            os.kill(pid, signal.SIGKILL)
        assert [token for chunk in results for token in chunk.tokens] == [20, SLOW]
        assert engine.status().restarts == 1
    assert log.read_text().split("\n")[:4] == ["born", "Submit 1", "born", "Submit 2"]


async def test_a_request_that_kills_every_worker_is_not_asked_a_third_time(tmp_path: Path) -> None:
    async with started(scripted(tmp_path / "log")) as engine:
        with pytest.raises(EngineCrashed):
            await answer_of(engine, DIE_AT_ONCE)
        await until(lambda: engine.status().state is EngineState.READY)
    assert (tmp_path / "log").read_text().count("Submit") == 2


async def test_an_answer_that_had_begun_ends_in_an_error_after_its_tokens(tmp_path: Path) -> None:
    got: list[int] = []
    async with started(scripted(tmp_path / "log")) as engine:
        with pytest.raises(EngineCrashed):
            await collect(engine, got, 30, DIE_AFTER_ONE)
        assert (await answer_of(engine, 31))[0].tokens == (31,)
    assert got == [30]


async def test_closing_the_generator_cancels_in_the_worker(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with started(scripted(log)) as engine:
        with anyio.move_on_after(0.3):
            await answer_of(engine, NEVER)
        await until(lambda: "Cancel" in log.read_text())
        await until(lambda: engine.status().running == 0)
        assert await answer_of(engine, 40)
    assert log.read_text().split("\n")[:3] == ["born", "Submit 1", "Cancel 1"]


async def test_a_request_that_left_before_it_was_sent_never_reaches_the_worker(tmp_path: Path) -> None:
    """The worker sleeps over the first request while prompts larger than the socket's buffer pile up."""
    log = tmp_path / "log"
    large = tuple(range(10, 200)) * 5
    async with started(scripted(log)) as engine, anyio.create_task_group() as group:
        group.start_soon(answer_of, engine, SLOW)
        await until(lambda: "Submit 1" in log.read_text())
        async with anyio.create_task_group() as leaving:
            for _ in range(400):
                leaving.start_soon(answer_of, engine, *large)
            await anyio.sleep(0.1)
            leaving.cancel_scope.cancel()
        assert await answer_of(engine, 40)
    submitted = log.read_text().count("Submit")
    assert 2 <= submitted < 400
    assert log.read_text().count("Cancel") == submitted - 2


async def test_a_killed_worker_is_replaced_by_exactly_one(tmp_path: Path) -> None:
    async with started(scripted(tmp_path / "log")) as engine:
        first = engine.status().pid
        assert first is not None
        os.kill(first, signal.SIGKILL)
        await until(lambda: engine.status().restarts == 1 and engine.status().state is EngineState.READY)
        second = engine.status().pid
        assert second is not None
        assert second != first
        assert not worker_lives(first)
        assert await answer_of(engine, 50)
    assert not worker_lives(second)
    assert engine.status().state is EngineState.STOPPED


async def test_a_request_that_comes_during_a_restart_waits_for_it(tmp_path: Path) -> None:
    async with started(scripted(tmp_path / "log")) as engine:
        pid = engine.status().pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        await until(lambda: engine.status().state is EngineState.RESTARTING)
        assert (await answer_of(engine, 60))[0].tokens == (60,)


async def test_a_worker_that_cannot_start_says_why(tmp_path: Path) -> None:
    engine = scripted(tmp_path / "log", "refuse-to-start")
    with pytest.raises(EngineUnavailable, match="made of cheese"):
        await engine.start()
    assert engine.status().state is EngineState.FAILED
    assert "made of cheese" in engine.status().detail
    assert (tmp_path / "log").read_text() == "born\n"
    await engine.stop()


async def test_quick_deaths_end_in_a_failed_state_with_the_cause(tmp_path: Path) -> None:
    engine = scripted(tmp_path / "log", "die-when-ready")
    async with started(engine):
        await until(lambda: engine.status().state is EngineState.FAILED)
        assert "again" in engine.status().detail
        with pytest.raises(EngineUnavailable, match="again"):
            await answer_of(engine, 70)
    assert (tmp_path / "log").read_text().count("born") == QUICK.max_failures + 1


async def test_a_silent_worker_with_work_is_killed(tmp_path: Path) -> None:
    patience = Patience(silence_s=0.5, ready_wait_s=20.0, backoff_s=0.01)
    async with started(scripted(tmp_path / "log", patience=patience)) as engine:
        with pytest.raises(EngineCrashed, match="silent"):
            await answer_of(engine, NEVER)


async def test_a_stopped_engine_refuses_and_can_be_started_again(tmp_path: Path) -> None:
    engine = scripted(tmp_path / "log")
    with pytest.raises(EngineUnavailable, match="stopped"):
        await answer_of(engine, 80)
    async with started(engine):
        assert await answer_of(engine, 80)
    await engine.stop()
    async with started(engine):
        assert await answer_of(engine, 81)


async def test_stopping_ends_requests_in_flight(tmp_path: Path) -> None:
    engine = scripted(tmp_path / "log")
    await engine.start()
    async with anyio.create_task_group() as group:

        async def victim() -> None:
            with pytest.raises(EngineUnavailable):
                await answer_of(engine, NEVER)

        group.start_soon(victim)
        await until(lambda: engine.status().running == 1)
        await engine.stop()


@pytest.mark.parametrize(
    ("tokens", "sampling", "param"),
    [
        ((), Sampling(), "prompt"),
        ((5, -1), Sampling(), "prompt"),
        ((ByteTokenizer.vocab_size,), Sampling(), "prompt"),
        ((5,) * 900, Sampling(max_tokens=101), "prompt"),
        ((5,), Sampling(max_tokens=0), "max_tokens"),
        ((5,), Sampling(temperature=-0.1), "temperature"),
        ((5,), Sampling(temperature=float("nan")), "temperature"),
        ((5,), Sampling(top_p=0.0), "top_p"),
        ((5,), Sampling(top_k=-1), "top_k"),
        ((5,), Sampling(frequency_penalty=2.1), "frequency_penalty"),
        ((5,), Sampling(presence_penalty=-2.1), "presence_penalty"),
        ((5,), Sampling(repetition_penalty=0.0), "repetition_penalty"),
    ],
)
async def test_what_the_engine_cannot_take_is_refused_and_named(
    tmp_path: Path, tokens: tuple[int, ...], sampling: Sampling, param: str
) -> None:
    async with started(scripted(tmp_path / "log")) as engine:
        with pytest.raises(RequestError) as refused:
            await anext(engine.generate(EngineRequest("r", tokens, sampling)))
    assert refused.value.param == param
    assert "Submit" not in (tmp_path / "log").read_text()
