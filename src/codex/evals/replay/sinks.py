"""Where the events of a replay go: a file of JSON lines, the server's feedback endpoint, or nowhere.

Knows events and one small HTTP call; no typist.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import IO

import httpx2
import msgspec

from codex.errors import ConnectionFailed, EvaluationError
from codex.evals.replay.rows import RequestEvent
from codex.evals.replay.session import EventSink


async def nowhere(event: RequestEvent) -> None:
    """The sink of a run that keeps no events."""


@asynccontextmanager
async def open_sink(
    file: Path | None = None, feedback_url: str | None = None, *, api_key: str = "none"
) -> AsyncIterator[EventSink]:
    """A sink that writes each event to `file` (appended) and reports outcomes to `feedback_url`, both
    optional.

    `feedback_url` is the server's base URL; the outcome goes to `/v1/feedback` under it.
    """
    async with AsyncExitStack() as stack:
        sinks: list[EventSink] = []
        if file is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
            sinks.append(_FileSink(stack.enter_context(file.open("a"))))
        if feedback_url is not None:
            client = await stack.enter_async_context(
                httpx2.AsyncClient(timeout=30.0, headers={"Authorization": f"Bearer {api_key}"})
            )
            sinks.append(FeedbackSink(client, feedback_url))
        yield _all(sinks)


def _all(sinks: list[EventSink]) -> EventSink:
    async def send(event: RequestEvent) -> None:
        for sink in sinks:
            await sink(event)

    return send


class _FileSink:
    def __init__(self, file: IO[str]) -> None:
        self._file = file

    async def __call__(self, event: RequestEvent) -> None:
        self._file.write(msgspec.json.encode(event).decode() + "\n")


class FeedbackSink:
    """Reports the outcome of each answer that the server named by `x-request-id`.

    Raises:
        EvaluationError: the server has no feedback endpoint, refuses the report, or does not name its
        answers.
    """

    def __init__(self, client: httpx2.AsyncClient, base_url: str) -> None:
        self._client = client
        self._url = base_url.rstrip("/").removesuffix("/v1") + "/v1/feedback"

    async def __call__(self, event: RequestEvent) -> None:
        if event.status != "answered":
            return
        if event.request_id is None:
            raise EvaluationError(
                "the server sends no x-request-id, so no outcome can be reported: leave --feedback out"
            )
        body = {
            "request_id": event.request_id,
            "outcome": event.outcome.value,
            "final_text": event.final_text,
        }
        try:
            response = await self._client.post(self._url, json=body)
        except httpx2.TransportError as error:
            raise ConnectionFailed(f"nothing answered at {self._url}: {error!r}") from error
        if response.status_code in {404, 405, 501}:
            raise EvaluationError(
                f"{self._url} answered {response.status_code}: this server takes no feedback, "
                "leave --feedback out"
            )
        if response.is_error:
            raise EvaluationError(
                f"{self._url} refused an outcome with {response.status_code}: {response.text[:200]}"
            )
