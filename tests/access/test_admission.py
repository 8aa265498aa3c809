"""Admission: order, bounds, refusal, and what leaving the queue does."""

from __future__ import annotations

import anyio
import pytest

from codex.access import Admission
from codex.errors import Overloaded

pytestmark = pytest.mark.anyio


async def hold(admission: Admission, until: anyio.Event, name: str, entered: list[str]) -> None:
    async with admission.place():
        entered.append(name)
        await until.wait()


async def settle() -> None:
    for _ in range(5):
        await anyio.lowlevel.checkpoint()


async def test_no_more_than_places_run_and_the_others_enter_in_order() -> None:
    admission = Admission(places=2, queue_size=3)
    doors = [anyio.Event() for _ in range(5)]
    entered: list[str] = []
    async with anyio.create_task_group() as tasks:
        for number, door in enumerate(doors):
            tasks.start_soon(hold, admission, door, str(number), entered)
            await settle()
        assert (admission.running, admission.waiting) == (2, 3)
        for count, door in enumerate(doors, start=3):
            door.set()
            await settle()
            assert entered == [str(number) for number in range(min(count, 5))]
    assert (admission.running, admission.waiting) == (0, 0)


async def test_full_queue_refuses_with_a_time_to_retry() -> None:
    admission = Admission(places=1, queue_size=0)
    async with admission.place():
        with pytest.raises(Overloaded) as refused:
            async with admission.place():
                raise AssertionError("a second request ran")
    assert refused.value.retry_after_s >= 1
    assert admission.running == 0


async def test_cancel_in_queue_frees_the_slot_for_a_newcomer() -> None:
    admission = Admission(places=1, queue_size=1)
    door, entered = anyio.Event(), list[str]()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(hold, admission, door, "first", entered)
        await settle()
        with anyio.CancelScope() as leaving:
            async with anyio.create_task_group() as waiting:
                waiting.start_soon(hold, admission, door, "leaver", entered)
                await settle()
                assert admission.waiting == 1
                leaving.cancel()
        assert admission.waiting == 0
        tasks.start_soon(hold, admission, door, "newcomer", entered)
        await settle()
        door.set()
    assert entered == ["first", "newcomer"]


async def test_cancel_at_the_moment_of_hand_over_passes_the_place_on() -> None:
    admission = Admission(places=1, queue_size=2)
    first, second, third = anyio.Event(), anyio.Event(), anyio.Event()
    entered: list[str] = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(hold, admission, first, "first", entered)
        await settle()
        leaver = anyio.CancelScope()

        async def leave() -> None:
            with leaver:
                await hold(admission, second, "leaver", entered)

        tasks.start_soon(leave)
        await settle()
        tasks.start_soon(hold, admission, third, "third", entered)
        await settle()
        first.set()
        # The place is handed over while the leaver is being cancelled, in one turn of the loop.
        await anyio.lowlevel.checkpoint()
        leaver.cancel()
        await settle()
        third.set()
        second.set()
    assert entered[-1] == "third"
    assert (admission.running, admission.waiting) == (0, 0)


async def test_retry_after_follows_the_recent_service_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(anyio, "current_time", lambda: now)
    admission = Admission(places=2, queue_size=0)
    assert admission.retry_after_s == 1
    for _ in range(50):
        async with admission.place():
            now += 20.0
    assert admission.retry_after_s == 10


async def test_an_error_inside_gives_the_place_back() -> None:
    admission = Admission(places=1, queue_size=0)
    with pytest.raises(ZeroDivisionError):
        async with admission.place():
            raise ZeroDivisionError
    assert admission.running == 0
