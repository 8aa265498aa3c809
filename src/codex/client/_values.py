"""What the client hands over: plain values, readable as attributes or as `answer["text"]`."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from codex.types import Message, Usage


class _Readable:
    """Lets a value be read like a dictionary, which is how examples of the API are usually written."""

    __slots__ = ()

    def __getitem__(self, name: str) -> Any:
        if name not in self.keys():
            raise KeyError(name)
        return getattr(self, name)

    def keys(self) -> tuple[str, ...]:
        return tuple(field.name for field in fields(self))  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Chunk(_Readable):
    """A piece of an answer. The last one carries `finish_reason`.

    `idle` marks a chunk without text that says only: nothing arrived within `chunk_timeout`.
    """

    text: str
    index: int = 0
    finish_reason: str | None = None
    idle: bool = False


@dataclass(frozen=True, slots=True)
class Completion(_Readable):
    """A whole answer. `release` names what answered; it is empty when the server does not say."""

    text: str
    finish_reason: str | None
    usage: Usage | None
    release: str
    request_id: str

    @property
    def truncated_tokens(self) -> int:
        """Prompt tokens left out by the server to make the prompt fit, 0 unless `truncate` was asked for."""
        return self.usage.truncated_tokens if self.usage else 0

    @property
    def message(self) -> Message:
        """The answer as the next message of a conversation."""
        return Message("assistant", self.text)


@dataclass(frozen=True, slots=True)
class ServedModel(_Readable):
    """A model that the server answers with. `context_length` is in tokens, 0 when the server does not say."""

    id: str
    owned_by: str = ""
    context_length: int = 0
    release: str = ""


@dataclass(frozen=True, slots=True)
class Health(_Readable):
    """`alive`: the process answers. `ready`: a request would be answered now. `detail`: why not."""

    alive: bool
    ready: bool
    detail: str = ""
