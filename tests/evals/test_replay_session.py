"""The simulated developer against a scripted server: requests, suggestions, superseding, figures."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import anyio
import httpx2
import pytest

from codex.errors import EvaluationError
from codex.evals.replay import (
    Edit,
    EditRow,
    Latency,
    Outcome,
    ReplayOptions,
    ReplayResult,
    RequestEvent,
    load_edits,
    replay,
)
from codex.evals.replay.asking import SETTLED, Asker, Status
from codex.evals.target import Target
from codex.types import FimInput

pytestmark = pytest.mark.anyio

Script = Callable[[str, str], str]
FIXED = Latency(50.0)
TEXT = "total = first + second\nprint(total)"


class Server(httpx2.AsyncBaseTransport):
    """Speaks the streaming completions API: `script(prefix, suffix)`, one character each `step_s`."""

    def __init__(
        self, script: Script, *, wait_s: float = 0.0, step_s: float = 0.0, status: int = 200
    ) -> None:
        self._script, self._wait_s, self._step_s, self._status = script, wait_s, step_s, status
        self.bodies: list[dict[str, Any]] = []
        self.left = 0
        self.running = 0
        self.most_running = 0

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        body = json.loads(await request.aread())
        self.bodies.append(body)
        if self._status != 200:
            return httpx2.Response(self._status, json={"error": {"message": "no"}})
        headers = {"content-type": "text/event-stream", "x-request-id": f"r{len(self.bodies)}"}
        text = self._script(body["prompt"], body["suffix"])
        return httpx2.Response(200, headers=headers, stream=Stream(self, self._events(text)))

    async def _events(self, text: str) -> AsyncGenerator[bytes, None]:
        done = False
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        try:
            await anyio.sleep(self._wait_s)
            for character in text:
                await anyio.sleep(self._step_s)
                yield event({"choices": [{"index": 0, "text": character}]})
            done = True
            yield event({"choices": [{"index": 0, "text": "", "finish_reason": "stop"}]})
            yield event({"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": len(text)}})
            yield b"data: [DONE]\n\n"
        finally:
            self.running -= 1
            self.left += not done


def event(body: dict[str, Any]) -> bytes:
    return f"data: {json.dumps(body)}\n\n".encode()


class Stream(httpx2.AsyncByteStream):
    """The body of an answer; closing it early is what the server sees of a client that leaves."""

    def __init__(self, server: Server, events: AsyncGenerator[bytes, None]) -> None:
        self._events = events

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._events:
            yield piece

    async def aclose(self) -> None:
        await self._events.aclose()


def edit(
    text: str = TEXT, *, id: str = "a.py:3", before: str = "import this\n\n", after: str = "end = 1\n"
) -> Edit:
    return Edit(id, id.partition(":")[0], "python", before, text, "\n", after)


@asynccontextmanager
async def target_of(server: Server) -> AsyncIterator[Target]:
    async with Target("http://test", "m", retries=0, transport=server) as target:
        yield target


async def typed(
    server: Server, *edits: Edit, options: ReplayOptions | None = None
) -> tuple[ReplayResult, list[RequestEvent]]:
    events: list[RequestEvent] = []

    async def keep(seen: RequestEvent) -> None:
        events.append(seen)

    async with target_of(server) as target:
        result = await replay(edits or (edit(),), target, options or ReplayOptions(latency=FIXED), sink=keep)
    return result, events


def says(text: str) -> Script:
    return lambda _prefix, _suffix: text


def oracle(wanted: str, *, lines: int = 1) -> Script:
    """Answers what will be typed next, as a perfect model would."""

    def answer(prefix: str, _suffix: str) -> str:
        written = prefix.removeprefix("import this\n\n")
        return (
            "\n".join(wanted.removeprefix(written).split("\n")[:lines]) if wanted.startswith(written) else ""
        )

    return answer


async def test_a_perfect_server_saves_all_but_one_key_a_line() -> None:
    result, events = await typed(Server(oracle(TEXT)))
    (row,) = result.rows
    first, second = (len(line) for line in TEXT.split("\n"))
    assert row.characters == first + 1 + second
    assert (row.accepted, row.shown) == (2, 2)
    assert row.saved == first - 1 + second - 1
    assert row.lines_exact == row.lines_asked == 2
    assert result.figures["characters_saved_share"] == row.saved / row.characters
    assert [one.final_text for one in events if one.outcome is Outcome.ACCEPTED] == TEXT.split("\n")


async def test_several_lines_are_taken_at_once_when_they_are_asked_for() -> None:
    options = ReplayOptions(latency=FIXED, lines=4, max_tokens=64)
    result, _ = await typed(Server(oracle(TEXT, lines=2)), options=options)
    (row,) = result.rows
    assert (row.accepted, row.fired) == (1, 1)
    assert row.saved == len(TEXT) - 1


async def test_a_request_holds_the_real_prefix_and_suffix_and_asks_for_one_line() -> None:
    server = Server(says(""))
    await typed(server)
    first, later = server.bodies[0], server.bodies[-1]
    assert (first["prompt"], first["suffix"]) == ("import this\n\n", "\nend = 1\n")
    assert first["single_line"] is True
    assert first["path"] == "a.py"
    assert later["prompt"].startswith("import this\n\ntotal")
    assert later["suffix"] == "\nend = 1\n"


async def test_a_wrong_server_is_asked_again_at_every_key_and_saves_nothing() -> None:
    result, events = await typed(Server(says("???")))
    (row,) = result.rows
    assert row.saved == row.accepted == row.lines_exact == 0
    assert row.shown == row.answered == row.fired - row.not_sent
    assert row.fired + row.debounced == row.characters
    assert {one.outcome for one in events if one.status == "answered"} == {Outcome.REJECTED}


async def test_what_agrees_with_the_suggestion_is_typed_through_without_a_request() -> None:
    server = Server(lambda prefix, _: "total = first + third" if prefix.endswith("\n\n") else "")
    result, events = await typed(server, edit("total = first + second"))
    (row,) = result.rows
    shared = len("total = first + ")
    assert row.shown == 1
    assert [len(body["prompt"]) - len("import this\n\n") for body in server.bodies][:2][1] > shared
    assert row.partial_saved == shared - 1 - 4
    assert events[0].outcome is Outcome.REJECTED


async def test_a_key_within_the_debounce_keeps_the_request_from_being_fired() -> None:
    server = Server(says(""))
    result, _ = await typed(server, options=ReplayOptions(latency=FIXED, debounce_ms=1e9))
    (row,) = result.rows
    assert (row.fired, row.debounced, len(server.bodies)) == (0, row.characters, 0)
    assert result.figures["shown_rate"] is None


async def test_an_answer_slower_than_the_next_key_is_never_seen_but_still_compared() -> None:
    result, events = await typed(Server(oracle(TEXT)), options=ReplayOptions(latency=Latency(1e6)))
    (row,) = result.rows
    assert (row.shown, row.accepted, row.saved) == (0, 0, 0)
    assert row.lines_exact == row.lines_asked == 2
    assert row.fired == row.superseded + row.not_sent
    assert {one.outcome for one in events} == {Outcome.IGNORED}


async def test_a_superseded_request_is_cancelled_on_the_server() -> None:
    server = Server(says("slow"), wait_s=0.15)
    options = ReplayOptions(characters_per_s=20.0, debounce_ms=1.0, every_request=True)
    result, _ = await typed(server, edit("abcdef"), options=options)
    (row,) = result.rows
    assert row.superseded >= 4
    assert server.left >= 4
    assert server.running == 0
    assert server.most_running == 1
    assert len(row.waited_ms) == row.superseded


@pytest.mark.parametrize(("every_request", "status"), [(False, Status.NOT_SENT), (True, Status.SUPERSEDED)])
async def test_a_request_with_less_time_than_the_fastest_answer_is_not_sent(
    every_request: bool, status: Status
) -> None:
    server = Server(says("?"), wait_s=0.02)
    async with target_of(server) as target:
        asker = Asker(target, ReplayOptions(every_request=every_request))
        for _ in range(SETTLED):
            reply = await asker.ask(FimInput("", ""), "python", 60_000, finish=False)
            assert reply.status is Status.ANSWERED
        hopeless = await asker.ask(FimInput("", ""), "python", 5, finish=False)
        finished = await asker.ask(FimInput("", ""), "python", 5, finish=True)
    assert hopeless.status is status
    assert (finished.status, finished.text, finished.visible) == (Status.SUPERSEDED, "?", False)
    assert len(server.bodies) == SETTLED + 1 + every_request


async def test_with_several_lines_only_those_that_came_in_time_are_taken() -> None:
    text = "a = 1\nb = 2\nc = 3"
    server = Server(oracle(text, lines=3), step_s=0.03)
    options = ReplayOptions(lines=3, debounce_ms=0.0, characters_per_s=6.0)
    result, events = await typed(server, edit(text), options=options)
    assert result.rows[0].accepted >= 1
    for one in events:
        if one.outcome is Outcome.ACCEPTED:
            assert text.find(one.final_text) >= 0


async def test_seeded_runs_are_identical() -> None:
    old = {f"m{n}.py": f"a = {n}\nb = 2\n" for n in range(6)}
    new = {f"m{n}.py": f"a = {n}\nvalue = compute({n})\nb = 2\nreturn value_{n}\n" for n in range(6)}
    edits = load_edits(old, new)

    def script(prefix: str, _suffix: str) -> str:
        return "compute(3)" if prefix.endswith("value = ") else "value"

    figures = []
    for typists in (1, 1, 3):
        options = ReplayOptions(latency=FIXED, typists=typists)
        result, _ = await typed(Server(script), *edits, options=options)
        figures.append(result.figures)
    assert figures[0] == figures[1] == figures[2]
    assert figures[0]["edits"] == len(edits) == 12
    other, _ = await typed(Server(script), *edits, options=ReplayOptions(latency=FIXED, seed=2))
    assert other.figures["typing_minutes"] != figures[0]["typing_minutes"]


async def test_typists_work_side_by_side_each_in_files_of_its_own() -> None:
    edits = [edit("value = 1", id=f"m{n}.py:3") for n in range(4)]
    server = Server(says("x"), wait_s=0.02)
    result, _ = await typed(server, *edits, options=ReplayOptions(latency=FIXED, typists=4))
    assert server.most_running == 4
    assert [row.id for row in result.rows] == [one.id for one in edits]


async def test_finished_edits_are_not_typed_again() -> None:
    edits = [edit(id="a.py:3"), edit(id="b.py:3")]
    done = EditRow("a.py:3", "a.py", "python", characters=10, lines=1, saved=5)
    server = Server(says(""))
    seen: list[str] = []
    async with target_of(server) as target:
        result = await replay(
            edits,
            target,
            ReplayOptions(latency=FIXED),
            finished={"a.py:3": done},
            on_row=lambda row: seen.append(row.id),
        )
    assert seen == ["b.py:3"]
    assert result.rows[0] is done


async def test_a_server_that_keeps_failing_ends_the_run_with_its_words() -> None:
    options = ReplayOptions(latency=Latency(0.0))
    edits = [edit(id=f"m{n}.py:3") for n in range(5)]
    for typists in (1, 2):
        with pytest.raises(EvaluationError, match="in a row failed"):
            await typed(Server(says(""), status=500), *edits, options=replace(options, typists=typists))


@pytest.mark.parametrize("typists", [1, 3])
async def test_a_sink_that_refuses_ends_the_run_with_its_words(typists: int) -> None:
    async def refuse(_event: RequestEvent) -> None:
        raise EvaluationError("no room for events")

    edits = [edit(id=f"m{n}.py:3") for n in range(5)]
    async with target_of(Server(says("x"))) as target:
        with pytest.raises(EvaluationError, match="no room for events"):
            await replay(edits, target, ReplayOptions(latency=FIXED, typists=typists), sink=refuse)


async def test_open_files_travel_when_asked_for() -> None:
    old = {"a.py": "x = 1\n", "b.py": "y = 1\n"}
    new = {"a.py": "x = 1\nz = 2\n", "b.py": "y = 1\nw = 3\n"}
    server = Server(says(""))
    await typed(server, *load_edits(old, new), options=ReplayOptions(latency=FIXED, context=2))
    assert "context_files" not in server.bodies[0]
    assert server.bodies[-1]["context_files"] == [{"path": "a.py", "text": new["a.py"]}]


async def test_the_prefix_keeps_its_first_line_while_the_cursor_moves_on() -> None:
    lines = "".join(f"line_{n} = {n}\n" for n in range(200))
    server = Server(says(""))
    options = ReplayOptions(latency=FIXED, prefix_lines=40, suffix_lines=3)
    await typed(server, edit("a = 1\nb = 2\nc = 3", before=lines, after=lines), options=options)
    starts = {body["prompt"].partition("\n")[0] for body in server.bodies}
    assert starts == {"line_160 = 160"}
    assert {body["suffix"].count("\n") for body in server.bodies} == {4}
