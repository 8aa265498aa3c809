"""How a replay is run: the typist, the editor, the clock. Values only."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

from codex.errors import EvaluationError


@dataclass(frozen=True, slots=True)
class Latency:
    """What a request costs on the virtual clock: the measured time, or always `fixed_ms`.

    With a fixed latency a run depends on the texts alone, so that it can be repeated exactly.
    """

    fixed_ms: float | None = None

    @classmethod
    def parse(cls, text: str) -> Self:
        """Reads `measured` or `fixed:MILLISECONDS`.

        Raises:
            EvaluationError: it is neither.
        """
        if text == "measured":
            return cls()
        kind, _, number = text.partition(":")
        try:
            if kind == "fixed" and float(number) >= 0:
                return cls(float(number))
        except ValueError:
            pass  # told below, with what would have been right
        raise EvaluationError(f"latency {text!r} is neither 'measured' nor 'fixed:MILLISECONDS'")

    def __str__(self) -> str:
        return "measured" if self.fixed_ms is None else f"fixed:{self.fixed_ms:g}"


@dataclass(frozen=True, slots=True)
class ReplayOptions:
    """The simulated developer and editor.

    `debounce_ms`: a key within this time keeps the request from being fired; 75 is the default of GitHub
    Copilot's editor plugin. `prefix_lines` and `suffix_lines` around the cursor are sent; the prefix
    starts at a multiple of `prefix_lines / 2` and so holds up to half more, which keeps its start, and
    with it the server's prefix cache, over many keys and edits. `context` other files are sent. `lines` 1
    asks for the rest of the line, more for up to that many lines. `typists` work at the same time, each on
    a clock of its own. `every_request` also sends requests that cannot be answered before the next key
    (see `asking`).
    """

    seed: int = 1
    characters_per_s: float = 5.0
    debounce_ms: float = 75.0
    latency: Latency = field(default_factory=Latency)
    prefix_lines: int = 32
    suffix_lines: int = 6
    context: int = 0
    max_tokens: int = 24
    lines: int = 1
    typists: int = 1
    every_request: bool = False
    cleanup: bool = True
    user: str | None = None
