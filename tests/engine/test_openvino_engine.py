"""The real model in the real worker: what it answers, and that every request can be got rid of."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import aclosing

import anyio
import psutil
import pytest

from codex.engine.models import PreparedModel
from codex.engine.openvino import OpenVinoEngine
from codex.engine.openvino.wire import Step
from codex.errors import ContextLengthExceeded, EngineCrashed, EngineError
from codex.types import EngineChunk, EngineRequest, EngineState, FinishReason, Sampling

pytestmark = [pytest.mark.anyio, pytest.mark.model]

FIM = (151659, 750, 912, 2877, 11, 293, 982, 262, 470, 220, 151661, 198, 151660)
"""`def add(a, b):\\n    return ` with nothing right of the cursor."""
GREEDY = Sampling(max_tokens=12, temperature=0.0)


@pytest.fixture
def steps(real_engine: OpenVinoEngine) -> Iterator[list[Step]]:
    """Every step of the worker during the test."""
    seen: list[Step] = []
    real_engine.on_step = seen.append
    yield seen
    real_engine.on_step = lambda _: None


async def chunks_of(
    engine: OpenVinoEngine, tokens: tuple[int, ...], sampling: Sampling, *stops: int
) -> list[EngineChunk]:
    request = EngineRequest("test", tokens, sampling, frozenset(stops))
    return [chunk async for chunk in engine.generate(request)]


async def tokens_of(
    engine: OpenVinoEngine, tokens: tuple[int, ...], sampling: Sampling, *stops: int
) -> list[int]:
    return [token for chunk in await chunks_of(engine, tokens, sampling, *stops) for token in chunk.tokens]


async def together(engine: OpenVinoEngine, jobs: list[tuple[tuple[int, ...], Sampling]]) -> list[list[int]]:
    answers: list[list[int]] = [[] for _ in jobs]

    async def one(number: int) -> None:
        answers[number] = await tokens_of(engine, *jobs[number])

    async with anyio.create_task_group() as group:
        for number in range(len(jobs)):
            group.start_soon(one, number)
    return answers


async def until(condition: Callable[[], bool], *, limit_s: float = 120) -> None:
    with anyio.fail_after(limit_s):
        while not condition():  # noqa: ASYNC110 - what is awaited happens in another process
            await anyio.sleep(0.01)


def free(engine: OpenVinoEngine) -> Callable[[], bool]:
    return lambda: (engine.status().running, engine.status().waiting) == (0, 0)


async def test_it_completes_code(real_engine: OpenVinoEngine) -> None:
    tokens = await tokens_of(real_engine, FIM, GREEDY)
    text = b"".join(real_engine.tokenizer.token_bytes(token) for token in tokens)
    assert text.startswith(b"a + b")


async def test_greedy_answers_are_the_same_again_and_beside_others(real_engine: OpenVinoEngine) -> None:
    alone = await tokens_of(real_engine, FIM, GREEDY)
    crowd = [((*range(900 + i, 940 + i),), Sampling(max_tokens=8, temperature=1.0)) for i in range(3)]
    crowded = await together(real_engine, [(FIM, GREEDY), *crowd, (FIM, GREEDY)])
    assert crowded[0] == alone
    assert crowded[-1] == alone


async def test_reading_a_prompt_in_portions_changes_nothing(
    real_engine: OpenVinoEngine, prepared_model: PreparedModel, steps: list[Step]
) -> None:
    """The bare loop, in a process of its own, reads the same prompt in one go."""
    prompt = tuple(range(2000, 2200))
    script = (
        "import sys, pathlib; from codex.engine.openvino.bare import BareEngine; "
        "engine = BareEngine(pathlib.Path(sys.argv[1]), kv_cache_bytes=64 << 20); "
        "print(*engine.run([range(2000, 2200)], max_tokens=12)[0].tokens)"
    )
    whole = await anyio.run_process([sys.executable, "-c", script, str(prepared_model.path)])
    neighbour = ((*range(5000, 5100),), GREEDY)
    portions = await together(real_engine, [(prompt, GREEDY), neighbour])
    assert sum(1 for step in steps if step.read) >= 3
    assert portions[0] == [int(token) for token in whole.stdout.split()]


async def test_the_seed_decides_a_sampled_answer(real_engine: OpenVinoEngine) -> None:
    def wild(seed: int | None) -> Sampling:
        return Sampling(max_tokens=10, temperature=1.5, top_p=1.0, seed=seed)

    seeds = (1, 1, 2, None, None)
    one, again, two, free_1, free_2 = [await tokens_of(real_engine, FIM, wild(seed)) for seed in seeds]
    assert one == again
    assert two != one
    assert free_1 != free_2


async def test_each_of_the_answers_in_a_step_follows_its_own_seed(real_engine: OpenVinoEngine) -> None:
    """At an everyday temperature: logits differ in their last bits with the number of answers in a step, and
    where thousands of tokens are about equally likely that can move a sampled one."""

    def seeded(seed: int) -> tuple[tuple[int, ...], Sampling]:
        return FIM, Sampling(max_tokens=10, temperature=0.7, top_p=0.95, seed=seed)

    alone = {seed: await tokens_of(real_engine, *seeded(seed)) for seed in (1, 2, 3)}
    assert len({tuple(tokens) for tokens in alone.values()}) > 1
    together_ = await together(real_engine, [seeded(seed) for seed in (3, 1, 2, 1)])
    assert together_ == [alone[3], alone[1], alone[2], alone[1]]


async def test_a_stop_token_ends_the_answer_and_does_not_leak(real_engine: OpenVinoEngine) -> None:
    whole = await tokens_of(real_engine, FIM, GREEDY)
    stop = whole[3]
    chunks = await chunks_of(real_engine, FIM, GREEDY, stop, 151643)
    assert [token for chunk in chunks for token in chunk.tokens] == whole[: whole.index(stop)]
    assert chunks[-1].finish is FinishReason.STOP


async def test_only_our_stop_tokens_end_an_answer(real_engine: OpenVinoEngine) -> None:
    """The model ends a greeting's answer with its own end-of-turn token; without our asking it must go on."""
    end_of_turn = 151645
    sampling = Sampling(max_tokens=20, temperature=0.0)
    chat = (151644, 872, 198, 45764, 366, 825, 3409, 25, 9693, end_of_turn, 198, 151644, 77091, 198)
    stopped = await chunks_of(real_engine, chat, sampling, end_of_turn)
    whole = await chunks_of(real_engine, chat, sampling)
    assert stopped[-1].finish is FinishReason.STOP
    assert sum(len(chunk.tokens) for chunk in whole) == 20
    assert whole[-1].finish is FinishReason.LENGTH


async def test_logprobs_are_of_the_chosen_tokens(real_engine: OpenVinoEngine) -> None:
    greedy = Sampling(max_tokens=6, temperature=0.0, logprobs=True)
    chunks = await chunks_of(real_engine, FIM, greedy)
    logprobs = [logprob for chunk in chunks for logprob in chunk.logprobs]
    assert len(logprobs) == sum(len(chunk.tokens) for chunk in chunks) == 6
    assert all(logprob <= 0.0 for logprob in logprobs)
    first: dict[int, float] = {chunks[0].tokens[0]: logprobs[0]}
    for seed in range(6):
        sampling = Sampling(max_tokens=1, temperature=2.0, top_p=1.0, logprobs=True, seed=seed)
        chunk = (await chunks_of(real_engine, FIM, sampling))[0]
        assert first.setdefault(chunk.tokens[0], chunk.logprobs[0]) == pytest.approx(
            chunk.logprobs[0], abs=1e-3
        )
    assert sum(math.exp(logprob) for logprob in first.values()) <= 1.001
    assert not (await chunks_of(real_engine, FIM, GREEDY))[0].logprobs


async def test_a_strong_frequency_penalty_changes_what_repeats(real_engine: OpenVinoEngine) -> None:
    prompt = (*range(700, 703),) * 6
    plain = await tokens_of(real_engine, prompt, Sampling(max_tokens=12, temperature=0.0))
    penalised = await tokens_of(
        real_engine, prompt, Sampling(max_tokens=12, temperature=0.0, frequency_penalty=2.0)
    )
    assert len(set(penalised)) > len(set(plain))


async def test_too_long_for_the_window_or_the_memory_is_refused(real_engine: OpenVinoEngine) -> None:
    with pytest.raises(ContextLengthExceeded, match="window"):
        await tokens_of(real_engine, FIM, Sampling(max_tokens=32_768))
    assert (await tokens_of(real_engine, FIM, Sampling(max_tokens=1))) != []


async def test_cancel_in_queue_takes_the_request_out(real_engine: OpenVinoEngine) -> None:
    """Three long answers reserve the memory, a fourth has to wait."""
    hog = Sampling(max_tokens=28_000)
    async with anyio.create_task_group() as group:
        for _ in range(3):
            group.start_soon(tokens_of, real_engine, FIM, hog)
        await until(lambda: real_engine.status().running == 3)
        with anyio.move_on_after(30) as waiting:

            async def leave_when_queued() -> None:
                await until(lambda: real_engine.status().waiting == 1)
                waiting.cancel()

            group.start_soon(leave_when_queued)
            await tokens_of(real_engine, (*FIM, 5), hog)
        await until(lambda: real_engine.status().waiting == 0)
        assert real_engine.status().running == 3
        group.cancel_scope.cancel()
    await until(free(real_engine))


async def test_cancel_in_prefill_frees_the_engine_within_a_step(
    real_engine: OpenVinoEngine, steps: list[Step]
) -> None:
    prompt = tuple(100 + number * 7 % 40_000 for number in range(8000))
    async with anyio.create_task_group() as group:
        group.start_soon(tokens_of, real_engine, prompt, GREEDY)
        await until(lambda: len(steps) >= 2)
        group.cancel_scope.cancel()
    left_at = len(steps)
    await until(free(real_engine))
    assert sum(1 for step in steps[left_at:] if step.read) <= 1
    assert sum(tokens for step in steps for _, tokens in step.read) < 8000
    left_at = len(steps)
    assert await tokens_of(real_engine, FIM, GREEDY)
    assert len({id_ for step in steps[left_at:] for id_, _ in step.read}) == 1
    assert free(real_engine)()


async def test_cancel_in_decode_frees_the_engine_within_a_step(
    real_engine: OpenVinoEngine, steps: list[Step]
) -> None:
    request = EngineRequest("test", FIM, Sampling(max_tokens=2000))
    async with aclosing(real_engine.generate(request)) as chunks:
        await anext(chunks)
        await anext(chunks)
    left_at = len(steps)
    await until(free(real_engine))
    assert sum(1 for step in steps[left_at:] if step.pieces) <= 1


async def test_a_worker_killed_under_sixteen_streams_leaves_no_one_waiting(
    real_engine: OpenVinoEngine,
) -> None:
    before = real_engine.status()
    assert before.pid is not None
    ended: list[int | EngineError] = []
    begun: list[int] = []

    async def stream(number: int) -> None:
        request = EngineRequest("test", (*FIM, number), Sampling(max_tokens=40))
        tokens = 0
        try:
            async for chunk in real_engine.generate(request):
                tokens += len(chunk.tokens)
                begun.append(number)
        except EngineCrashed as error:
            ended.append(error)
        else:
            ended.append(tokens)

    async with anyio.create_task_group() as group:
        for number in range(16):
            group.start_soon(stream, number)
        await until(lambda: bool(begun))
        os.kill(before.pid, signal.SIGKILL)
    assert len(ended) == 16
    assert all(outcome == 40 or isinstance(outcome, EngineCrashed) for outcome in ended)
    assert any(isinstance(outcome, EngineCrashed) for outcome in ended)
    after = real_engine.status()
    await until(lambda: real_engine.status().state is EngineState.READY)
    after = real_engine.status()
    assert after.restarts == before.restarts + 1
    assert not psutil.pid_exists(before.pid)
    assert [child.pid for child in _workers_of(psutil.Process())] == [after.pid]
    assert await tokens_of(real_engine, FIM, GREEDY)


def test_a_server_that_is_killed_takes_its_worker_along(prepared_model: PreparedModel) -> None:
    script = (
        "import anyio, sys, pathlib, time\n"
        "from codex.engine.create import create_engine\n"
        "from codex.settings import Settings\n"
        "async def main():\n"
        "    engine = create_engine(Settings(model=sys.argv[1], kv_cache_bytes=64 << 20))\n"
        "    await engine.start()\n"
        "    print(engine.status().pid, flush=True)\n"
        "    await anyio.sleep(600)\n"
        "anyio.run(main)\n"
    )
    command = [sys.executable, "-c", script, str(prepared_model.path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        worker = psutil.Process(int(server.stdout.readline()))
        server.kill()
    gone, _ = psutil.wait_procs([worker], timeout=30)
    assert gone


def _workers_of(process: psutil.Process) -> list[psutil.Process]:
    return [
        child
        for child in process.children(recursive=True)
        if "codex.engine.openvino.worker" in " ".join(child.cmdline())
    ]


def test_the_worker_does_not_carry_the_server() -> None:
    script = "import sys, codex.engine.openvino.worker; print(*[n for n, m in sys.modules.items() if m])"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    modules = set(loaded.stdout.split())
    assert "openvino_genai" in modules
    forbidden = {"fastapi", "pydantic", "uvicorn", "anyio", "tokenizers", "torch", "openvino_telemetry"}
    assert not modules & forbidden
