"""Runs the passes over an answer while it comes in. Knows their order and nothing of what they look for.

Each pass is a pure function of the text that the one before it has let through. What a pass lets through it
never takes back, so the result is the same for every way to split an answer into chunks.
"""

from __future__ import annotations

from typing import Protocol

from codex.guard.cut import Cleaned, Cut
from codex.guard.fim.above import repeats_above
from codex.guard.fim.below import stops_before_below
from codex.guard.fim.brackets import closes_only_its_own
from codex.guard.fim.closing import no_closing_line_twice
from codex.guard.fim.context import FimContext
from codex.guard.fim.leading import superfluous_start
from codex.guard.fim.loops import stops_at_loops
from codex.guard.fim.overlap import no_overlap
from codex.guard.fim.scope import stops_at_scope_end
from codex.guard.fim.single_line import first_line_only
from codex.guard.fim.structure import ends_complete
from codex.guard.fim.trailing import no_trailing_blank
from codex.guard.fim.unreachable import leaves_code_reachable


class AnswerPass(Protocol):
    """Says how much of `text` may leave for good. `final`: nothing follows `text`.

    Two laws hold for every pass: a longer text never gives a smaller `end`, and once `stop` is said, the same
    cut is said of every longer text.
    """

    def __call__(self, text: str, ctx: FimContext, final: bool) -> Cut: ...


PASSES: tuple[AnswerPass, ...] = (
    first_line_only,
    repeats_above,
    stops_at_scope_end,
    no_overlap,
    stops_before_below,
    leaves_code_reachable,
    closes_only_its_own,
    no_closing_line_twice,
    stops_at_loops,
    ends_complete,
    no_trailing_blank,
)


class FimCleaner:
    """The clean-up of one fill-in-the-middle answer; a `codex.guard.Cleaner`."""

    def __init__(self, ctx: FimContext, passes: tuple[AnswerPass, ...] = PASSES) -> None:
        self._start = _Start(ctx)
        self._stages = [_Stage(each, ctx) for each in passes]
        self._sent = 0
        self._stopped = False

    def push(self, text: str) -> Cleaned:
        return Cleaned("", stop=True) if self._stopped else self._run(text, final=False)

    def finish(self) -> str:
        return "" if self._stopped else self._run("", final=True).text

    def _run(self, chunk: str, *, final: bool) -> Cleaned:
        text = self._start.add(chunk, final)
        for stage in self._stages:
            text, final = stage.run(text, final)
        new = text[self._sent :]
        self._sent = len(text)
        self._stopped = final
        return Cleaned(new, final)


class _Start:
    """Gathers the answer; drops a superfluous start as soon as it is known how much of it is."""

    def __init__(self, ctx: FimContext) -> None:
        self._ctx = ctx
        self._text = ""
        self._known = False

    def add(self, chunk: str, final: bool) -> str:
        self._text += chunk
        if not self._known:
            drop = superfluous_start(self._text, self._ctx, final)
            if drop is None:
                return ""
            self._text = self._text[drop:]
            self._known = True
        return self._text


class _Stage:
    """One pass; it looks again only when there is something new to see."""

    def __init__(self, answer_pass: AnswerPass, ctx: FimContext) -> None:
        self._pass = answer_pass
        self._ctx = ctx
        self._seen: tuple[str, bool] = ("", False)
        self._said: tuple[str, bool] = ("", False)

    def run(self, text: str, final: bool) -> tuple[str, bool]:
        """What leaves of `text`, and whether nothing follows it."""
        if (text, final) != self._seen:
            cut = self._pass(text, self._ctx, final)
            self._seen = (text, final)
            self._said = (text[: cut.end], final or cut.stop)
        return self._said
