"""What a replay hands over: a row for each edit, an event for each request. Values only, all of them
additive.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class Outcome(StrEnum):
    """What became of a request. Ignored means that the typist never saw a suggestion of it."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    IGNORED = "ignored"


@dataclass(frozen=True, slots=True)
class RequestEvent:
    """A request, its answer and its outcome. Times in milliseconds; `at_ms` is on the edit's virtual clock.

    `status` is `answered`, `superseded`, `not_sent` or `failed`. `final_text` is what the developer
    wrote from the cursor to the end of the line, or all that an accepted suggestion gave.
    """

    edit: str
    path: str
    language: str
    at_ms: float
    keys: int
    prefix: str
    suffix: str
    status: str
    answer: str
    latency_ms: float
    request_id: str | None
    outcome: Outcome
    final_text: str


@dataclass(slots=True)
class EditRow:
    """One edit's counts; sums over rows give every figure.

    `characters` is what had to be typed (see `KeyScript`), `saved` the accepted characters less one key for
    each acceptance, `partial_saved` what word-wise acceptance of the other suggestions would have saved on
    top. `fired` = `answered` + `superseded` + `not_sent` + `failed`; `debounced` were never fired.
    `visible_ms` are the latencies of shown suggestions, `answered_ms` those of every answer that is known
    to its end, `waited_ms` the times after which superseded requests were given up.
    """

    id: str
    path: str
    language: str
    characters: int
    lines: int
    saved: int = 0
    accepted_characters: int = 0
    partial_saved: int = 0
    fired: int = 0
    debounced: int = 0
    answered: int = 0
    superseded: int = 0
    not_sent: int = 0
    failed: int = 0
    shown: int = 0
    accepted: int = 0
    lines_asked: int = 0
    lines_exact: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    virtual_ms: float = 0.0
    real_s: float = 0.0
    visible_ms: list[float] = field(default_factory=list)
    answered_ms: list[float] = field(default_factory=list)
    waited_ms: list[float] = field(default_factory=list)
