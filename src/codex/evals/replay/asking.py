"""One request of the editor on a real server, held against a virtual clock.

A request that the next key supersedes runs for exactly as long as the typist leaves it, then its connection
is closed, so that the server sees the load and the cancels of a real editor. Two exceptions keep a replay
short and its quality figures free of timing:
- the first request of a line runs to its end, since `exact_match` needs its answer; late it stays unseen, but
  the server then has its prompt cached for the line's next requests;
- a request with less time than nine of ten recent answers inside a line needed is counted as fired and
  superseded but not sent. About one in ten of these could have been seen, so figures are slightly too low,
  never too high; `every_request` sends them all.
"""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass
from enum import StrEnum

import anyio
import numpy as np

from codex.errors import ClientError, EvaluationError
from codex.evals.replay.options import ReplayOptions
from codex.evals.target import Target, TargetAnswer
from codex.evals.wire import Extras
from codex.types import FimInput, Sampling

MAX_FAILURES = 8
"""Failed requests in a row after which a run makes no sense."""

SETTLED = 5
"""Answers inside a line after which their speed is trusted. Those at a line's start are slower: more is
new in the prompt and more to say. They would hide that a request further on can be in time."""

RECENT = 200
HOPELESS_PERCENTILE = 10

MAX_ANSWER_S = 120.0


class Status(StrEnum):
    ANSWERED = "answered"
    SUPERSEDED = "superseded"
    NOT_SENT = "not_sent"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Reply:
    """What became of a request. `text` is the suggestion, also of an answer that came too late.

    `latency_ms` is from firing to the first whole line, or to the moment of giving up when superseded.
    """

    status: Status
    text: str = ""
    latency_ms: float = 0.0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    request_id: str | None = None
    complete: bool = False

    @property
    def visible(self) -> bool:
        return self.status is Status.ANSWERED and bool(self.text.strip())


class Asker:
    """Fires the requests of a run. Several typists may share one."""

    def __init__(self, target: Target, options: ReplayOptions) -> None:
        self._target = target
        self._options = options
        self._latencies_ms: deque[float] = deque(maxlen=RECENT)
        self._failures = 0

    async def ask(self, input: FimInput, language: str, window_ms: float, *, finish: bool) -> Reply:
        """The reply to a request that the next key will supersede `window_ms` after it was fired.

        `finish` lets it run to its end all the same; its status still says whether it came in time.

        Raises:
            EvaluationError: several requests in a row failed.
        """
        if not finish and window_ms < self._shortest():
            return Reply(Status.NOT_SENT)
        watch = _Watch(self._options.lines, window_ms)
        limit_s = MAX_ANSWER_S if finish or self._options.latency.fixed_ms is not None else window_ms / 1000
        answer: TargetAnswer | None = None
        try:
            with anyio.move_on_after(limit_s):
                answer = await self._send(input, language, watch)
        except ClientError as error:
            return self._failed(error, watch)
        self._failures = 0
        return self._reply(answer, watch, finish=finish)

    def _shortest(self) -> float:
        """The shortest window in which an answer is possible, in milliseconds."""
        if self._options.latency.fixed_ms is not None:
            return self._options.latency.fixed_ms
        if self._options.every_request or len(self._latencies_ms) < SETTLED:
            return 0.0
        return float(np.percentile(self._latencies_ms, HOPELESS_PERCENTILE))

    async def _send(self, input: FimInput, language: str, watch: _Watch) -> TargetAnswer:
        options = self._options
        single = options.lines == 1
        extras = Extras(options.cleanup, single, language, options.user, truncate=True)
        return await self._target.complete(
            input,
            Sampling(max_tokens=options.max_tokens, temperature=0.0, top_p=1.0),
            stop=("\n",) if single and self._target.fim == "template" else (),
            until=watch.read,
            extras=extras,
        )

    def _failed(self, error: ClientError, watch: _Watch) -> Reply:
        self._failures += 1
        if self._failures >= MAX_FAILURES:
            raise EvaluationError(
                f"{MAX_FAILURES} requests in a row failed, the last one: {error}"
            ) from error
        return Reply(Status.FAILED, latency_ms=watch.elapsed_ms())

    def _reply(self, answer: TargetAnswer | None, watch: _Watch, *, finish: bool) -> Reply:
        fixed_ms = self._options.latency.fixed_ms
        latency_ms = (watch.visible_ms or watch.elapsed_ms()) if fixed_ms is None else fixed_ms
        in_time = latency_ms <= watch.window_ms and (answer is not None or watch.visible_ms is not None)
        text = watch.suggestion(answer, seen=in_time and fixed_ms is None)
        if text.strip() and in_time and not finish:
            self._latencies_ms.append(latency_ms)
        return Reply(
            Status.ANSWERED if in_time else Status.SUPERSEDED,
            text,
            latency_ms,
            (answer and answer.prompt_tokens) or 0,
            (answer and answer.completion_tokens) or watch.pieces,
            answer.headers.get("x-request-id") if answer else None,
            complete=answer is not None,
        )


class _Watch:
    """Sees the text of one answer grow. A suggestion is visible once its first line is whole."""

    def __init__(self, lines: int, window_ms: float) -> None:
        self.window_ms = window_ms
        self._lines = lines
        self._started = time.perf_counter()
        self._in_time = ""
        self.pieces = 0
        self.visible_ms: float | None = None

    def elapsed_ms(self) -> float:
        return (time.perf_counter() - self._started) * 1000

    def read(self, text: str) -> bool:
        """Called with the text so far; True when there are lines enough."""
        self.pieces += 1
        now = self.elapsed_ms()
        if now <= self.window_ms:
            self._in_time = text
        if self.visible_ms is None and "\n" in text:
            self.visible_ms = now
        return text.count("\n") >= self._lines

    def suggestion(self, answer: TargetAnswer | None, *, seen: bool) -> str:
        """At most the lines asked for. `seen`: only what was whole before the next key."""
        if answer is not None and not (seen and self.elapsed_ms() > self.window_ms):
            lines = answer.text.split("\n")
        else:
            lines = self._in_time.split("\n")[:-1]
        return "\n".join(lines[: self._lines])
