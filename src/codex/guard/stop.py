"""Ends an answer at the first of some strings, wherever chunks split. Knows no request."""

from __future__ import annotations

from collections.abc import Iterable

from codex.guard.cut import Cleaned


class StopStrings:
    """Lets text through up to the earliest stop string; none of its characters ever leaves.

    Text that may be the beginning of a stop string is held back until it is known. After a chunk with
    `stop` nothing more comes out. Of overlapping stop strings the one that is complete first counts, so that
    the result is the same for every way to split the text.
    """

    def __init__(self, stops: Iterable[str]) -> None:
        self._stops = tuple(stop for stop in stops if stop)
        self._longest = max(map(len, self._stops), default=0)
        self._held = ""
        self._stopped = False

    def push(self, text: str) -> Cleaned:
        if self._stopped:
            return Cleaned("", stop=True)
        data = self._held + text
        ends = [(at + len(stop), at) for stop in self._stops if (at := data.find(stop)) >= 0]
        self._stopped = bool(ends)
        end = min(ends)[1] if ends else self._safe_end(data)
        self._held = "" if self._stopped else data[end:]
        return Cleaned(data[:end], stop=self._stopped)

    def finish(self) -> str:
        """What was held back and turned out to be no stop string."""
        held, self._held = self._held, ""
        return held

    def _safe_end(self, data: str) -> int:
        """Where the longest tail of `data` begins that is the beginning of a stop string."""
        for at in range(max(0, len(data) - self._longest + 1), len(data)):
            if any(stop.startswith(data[at:]) for stop in self._stops):
                return at
        return len(data)
