"""Places for requests that generate at the same time, and the bounded queue before them. Knows no request."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio

from codex.errors import Overloaded

LONGEST_RETRY_AFTER_S = 60.0
_NEWEST_WEIGHT = 0.2
"""Share of the newest request in the running mean of how long a place is held."""


class Admission:
    """`places` requests run, `queue_size` more wait in order of arrival, the next one is refused.

    Leaving the queue (cancellation) frees its slot at once. A place that becomes free is handed to the
    oldest waiter directly, so that nobody overtakes.
    """

    def __init__(self, places: int, queue_size: int) -> None:
        self.places = places
        self.queue_size = queue_size
        self.running = 0
        self._queue: deque[anyio.Event] = deque()
        self._mean_held_s = 0.0

    @property
    def waiting(self) -> int:
        return len(self._queue)

    @property
    def retry_after_s(self) -> float:
        """When a newcomer could expect a place: the whole queue at the recent service rate, 1 to 60 s."""
        expected = (self.waiting + 1) * self._mean_held_s / self.places
        return min(max(1.0, math.ceil(expected)), LONGEST_RETRY_AFTER_S)

    @asynccontextmanager
    async def place(self) -> AsyncGenerator[None, None]:
        """Waits for a place and holds it.

        Raises:
            Overloaded: every place is taken and the queue is full.
        """
        await self._acquire()
        since = anyio.current_time()
        try:
            yield
        finally:
            self._learn(anyio.current_time() - since)
            self._release()

    async def _acquire(self) -> None:
        if self.running < self.places:
            self.running += 1
            return
        if self.waiting >= self.queue_size:
            raise Overloaded(
                f"{self.running} requests are running and {self.waiting} wait: try again later",
                retry_after_s=self.retry_after_s,
            )
        await self._wait()

    async def _wait(self) -> None:
        turn = anyio.Event()
        self._queue.append(turn)
        try:
            await turn.wait()
        except BaseException:
            if turn.is_set():
                self._release()
            else:
                self._queue.remove(turn)
            raise

    def _release(self) -> None:
        if self._queue:
            self._queue.popleft().set()
        else:
            self.running -= 1

    def _learn(self, held_s: float) -> None:
        known = self._mean_held_s or held_s
        self._mean_held_s = known + _NEWEST_WEIGHT * (held_s - known)
