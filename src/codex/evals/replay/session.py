"""One edit typed by one developer: keys, requests, suggestions on the screen, on a virtual clock.

The editor asks after every key (debounced), also in the middle of a word, as GitHub Copilot's does; while
what is typed agrees with the visible suggestion it keeps showing the rest and asks nothing. Knows no
package and no report.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from codex.evals.replay.asking import Asker, Reply, Status
from codex.evals.replay.edits import Edit
from codex.evals.replay.keys import script_of
from codex.evals.replay.options import ReplayOptions
from codex.evals.replay.rows import EditRow, Outcome, RequestEvent
from codex.evals.replay.suggestion import accepted_state, first_line_is_right, partial_saving, remainder
from codex.evals.replay.typist import gaps_ms
from codex.evals.replay.window import Window
from codex.types import FimInput

EventSink = Callable[[RequestEvent], Awaitable[None]]


async def type_edit(edit: Edit, asker: Asker, options: ReplayOptions, sink: EventSink) -> EditRow:
    """Types one edit from the first key to the last.

    Raises:
        EvaluationError: the server keeps failing.
    """
    started = time.perf_counter()
    session = _Session(edit, asker, options, sink)
    row = await session.run()
    row.real_s = time.perf_counter() - started
    return row


@dataclass(slots=True)
class _Asked:
    """A request whose outcome is open. `text` is what is left of its suggestion on the screen."""

    input: FimInput
    reply: Reply
    at_ms: float
    state: int
    text: str


class _Session:
    def __init__(self, edit: Edit, asker: Asker, options: ReplayOptions, sink: EventSink) -> None:
        self._edit = edit
        self._asker = asker
        self._options = options
        self._sink = sink
        self._script = script_of(edit)
        self._gaps = gaps_ms(
            self._script.kinds,
            seed=f"{options.seed} {edit.id}",
            characters_per_s=options.characters_per_s,
            follows=edit.follows,
        )
        self._window = Window(edit, options)
        self._row = EditRow(edit.id, edit.path, edit.language, self._script.keys, len(self._script.lines))
        self._state = 0
        self._now_ms = 0.0
        self._visible: _Asked | None = None
        self._asked_lines: set[int] = set()

    async def run(self) -> EditRow:
        while self._state < self._script.keys:
            gap_ms = self._gaps[self._state]
            if self._visible is None:
                await self._ask(gap_ms - self._options.debounce_ms)
            self._now_ms += gap_ms
            if self._visible is None:
                self._state += 1
            else:
                await self._decide(self._visible)
        if self._visible is not None:
            await self._close(self._visible, Outcome.REJECTED)
        self._row.virtual_ms = self._now_ms
        return self._row

    async def _ask(self, window_ms: float) -> None:
        if window_ms <= 0:
            self._row.debounced += 1
            return
        input = self._window.at(self._script.states[self._state])
        first = self._is_first_of_line()
        reply = await self._asker.ask(input, self._edit.language, window_ms, finish=first)
        at_ms = self._now_ms + self._options.debounce_ms
        asked = _Asked(input, reply, at_ms, self._state, reply.text)
        self._count(reply)
        if first and reply.status is not Status.FAILED:
            self._row.lines_asked += 1
            self._row.lines_exact += first_line_is_right(self._script, self._state, reply.text)
        if not reply.visible:
            await self._close(asked, Outcome.IGNORED)
            return
        self._row.shown += 1
        self._row.visible_ms.append(reply.latency_ms)
        self._visible = asked

    def _is_first_of_line(self) -> bool:
        """True for a line's first request, once the cursor stands at its indentation and before its end."""
        line = self._script.line_at(self._state)
        if line in self._asked_lines or not self._script.rest_of_line(self._state):
            return False
        self._asked_lines.add(line)
        return True

    def _count(self, reply: Reply) -> None:
        row = self._row
        row.fired += 1
        row.answered += reply.status is Status.ANSWERED
        row.superseded += reply.status is Status.SUPERSEDED
        row.not_sent += reply.status is Status.NOT_SENT
        row.failed += reply.status is Status.FAILED
        row.prompt_tokens += reply.prompt_tokens
        row.completion_tokens += reply.completion_tokens
        if reply.complete:
            row.answered_ms.append(reply.latency_ms)
        elif reply.status is Status.SUPERSEDED:
            row.waited_ms.append(reply.latency_ms)

    async def _decide(self, asked: _Asked) -> None:
        """At the time of the next key: take the suggestion, or press the key and see what is left of it."""
        state = accepted_state(self._script, self._state, asked.text)
        if state is not None:
            keys = state - self._state
            self._row.accepted += 1
            self._row.accepted_characters += keys
            self._row.saved += keys - 1
            await self._close(asked, Outcome.ACCEPTED, accepted=state)
            self._state = state
            return
        before, after = self._script.states[self._state : self._state + 2]
        self._state += 1
        left = remainder(before, after, asked.text)
        if left is None:
            await self._close(asked, Outcome.REJECTED)
        else:
            asked.text = left

    async def _close(self, asked: _Asked, outcome: Outcome, *, accepted: int | None = None) -> None:
        if self._visible is asked:
            self._visible = None
        if outcome is Outcome.REJECTED:
            self._row.partial_saved += partial_saving(self._script, asked.state, asked.reply.text)
        await self._sink(
            RequestEvent(
                edit=self._edit.id,
                path=self._edit.path,
                language=self._edit.language,
                at_ms=asked.at_ms,
                keys=asked.state,
                prefix=asked.input.prefix,
                suffix=asked.input.suffix,
                status=asked.reply.status.value,
                answer=asked.reply.text,
                latency_ms=asked.reply.latency_ms,
                request_id=asked.reply.request_id,
                outcome=outcome,
                final_text=self._final_text(asked.state, accepted),
            )
        )

    def _final_text(self, state: int, accepted: int | None) -> str:
        end = self._script.ends[self._script.line_at(state)] if accepted is None else accepted
        written, start = self._script.states[end], self._script.states[state]
        return written[len(start) :] if written.startswith(start) else written
