"""What is written down about one request while it travels. Never holds a prompt, an answer or a file name."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Literal

from codex.types import ChatInput, FimInput, FinishReason, Prompt, ReleaseId, Request, Usage

Kind = Literal["completion", "fim", "chat"]
CANCELLED = "cancelled"
OK = "ok"


@dataclass(slots=True)
class Record:
    """Times are seconds of `time.perf_counter`. `status` is `ok`, `cancelled` or the code of an error.

    A request whose road simply ends, because its client left, never gets to say so: cancelled is therefore
    where `status` starts.
    """

    id: str
    kind: Kind
    language: str
    release: ReleaseId
    answers_left: int = 1
    arrived_at: float = field(default_factory=time.perf_counter)
    started_at: float | None = None
    first_text_at: float | None = None
    last_text_at: float | None = None
    ended_at: float | None = None
    status: str = CANCELLED
    finish: FinishReason | None = None
    prompt_tokens: int = 0
    completion_tokens: int = 0
    truncated_tokens: int = 0

    @classmethod
    def of(cls, request: Request, release: ReleaseId) -> Record:
        return cls(request.id, kind_of(request), language_label(request.language), release, request.n)

    @property
    def usage(self) -> Usage:
        return Usage(self.prompt_tokens, self.completion_tokens, self.truncated_tokens)

    @property
    def duration_s(self) -> float:
        return (self.ended_at or time.perf_counter()) - self.arrived_at

    @property
    def queued_s(self) -> float:
        """Time before a place was free; the whole time for a request that never got one."""
        return self.duration_s if self.started_at is None else self.started_at - self.arrived_at

    @property
    def first_text_s(self) -> float | None:
        return None if self.first_text_at is None else self.first_text_at - self.arrived_at

    def finished(self, finish: FinishReason) -> None:
        """One of the answers is complete; with the last one the request has succeeded."""
        self.finish = finish
        self.answers_left -= 1
        if not self.answers_left:
            self.status = OK

    def prompted(self, prompt: Prompt) -> None:
        self.prompt_tokens = len(prompt.tokens)
        self.truncated_tokens = prompt.truncated_tokens


def kind_of(request: Request) -> Kind:
    if isinstance(request.input, FimInput):
        return "fim"
    return "chat" if isinstance(request.input, ChatInput) else "completion"


LANGUAGES = frozenset(
    {
        *(
            "bash",
            "c",
            "clojure",
            "cpp",
            "csharp",
            "css",
            "dart",
            "elixir",
            "erlang",
            "go",
            "haskell",
            "html",
        ),
        *(
            "java",
            "javascript",
            "json",
            "julia",
            "kotlin",
            "lua",
            "markdown",
            "ocaml",
            "perl",
            "php",
            "powershell",
        ),
        *("python", "r", "ruby", "rust", "scala", "sql", "swift", "toml", "typescript", "xml", "yaml", "zig"),
    }
)


def language_label(language: str | None) -> str:
    """A label from a closed set: clients choose the language, and must not choose the number of series."""
    if language is None:
        return "unknown"
    name = language.lower()
    return name if name in LANGUAGES else "other"
