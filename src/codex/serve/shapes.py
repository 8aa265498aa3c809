"""How pieces of an answer are written, as server-sent events or as one document. Knows no pipeline.

Events are the hot path: everything but the text is rendered once for each answer.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import msgspec

from codex.types import AnswerChunk, FinishReason, TokenLogprob, Usage

encode = msgspec.json.encode
DONE = b"data: [DONE]\n\n"
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Envelope:
    """What every piece of one response repeats."""

    id: str
    model: str
    fingerprint: str
    created: int = field(default_factory=lambda: int(time.time()))

    def fields(self, kind: str) -> Json:
        return {
            "id": self.id,
            "object": kind,
            "created": self.created,
            "model": self.model,
            "system_fingerprint": self.fingerprint,
        }


class Shape(Protocol):
    """What completions and chat write differently."""

    id_prefix: str
    whole_object: str
    event_object: str

    def event(self, text: str, *, first: bool) -> Json:
        """Fields of a choice that carry a piece of text; `first` is true for the first of its answer."""
        ...

    def whole(self, text: str) -> Json: ...

    def logprobs(self, tokens: Sequence[TokenLogprob]) -> Json | None: ...


class CompletionShape:
    id_prefix = "cmpl-"
    whole_object = event_object = "text_completion"

    def __init__(self, *, logprobs: int | None) -> None:
        self._top = logprobs

    def event(self, text: str, *, first: bool) -> Json:
        return {"text": text}

    def whole(self, text: str) -> Json:
        return {"text": text}

    def logprobs(self, tokens: Sequence[TokenLogprob]) -> Json | None:
        if self._top is None:
            return None
        return {
            "tokens": [token.token for token in tokens],
            "token_logprobs": [token.logprob for token in tokens],
            "top_logprobs": [{token.token: token.logprob} for token in tokens] if self._top else None,
            "text_offset": [token.offset for token in tokens],
        }


class ChatShape:
    id_prefix = "chatcmpl-"
    whole_object = "chat.completion"
    event_object = "chat.completion.chunk"

    def __init__(self, *, logprobs: bool, top: int) -> None:
        self._wanted = logprobs
        self._top = top

    def event(self, text: str, *, first: bool) -> Json:
        if first:
            return {"delta": {"role": "assistant", "content": text}}
        return {"delta": {"content": text} if text else {}}

    def whole(self, text: str) -> Json:
        return {"message": {"role": "assistant", "content": text, "refusal": None}}

    def logprobs(self, tokens: Sequence[TokenLogprob]) -> Json | None:
        if not self._wanted:
            return None
        return {"content": [self._token(token) for token in tokens], "refusal": None}

    def _token(self, token: TokenLogprob) -> Json:
        entry = {"token": token.token, "logprob": token.logprob, "bytes": list(token.raw)}
        return {**entry, "top_logprobs": [entry] if self._top else []}


class Events:
    """Writes one response as server-sent events."""

    def __init__(self, shape: Shape, envelope: Envelope, *, usage: bool) -> None:
        self._shape = shape
        self._fields = envelope.fields(shape.event_object)
        self._usage: Json = {"usage": None} if usage else {}
        self._frames: dict[int, tuple[bytes, bytes]] = {}

    def piece(self, chunk: AnswerChunk, extension: Json | None = None) -> bytes:
        frame = self._frames.get(chunk.index)
        if frame is not None and not chunk.finish and not chunk.logprobs:
            return frame[0] + encode(chunk.text) + frame[1]
        if frame is None:
            self._frames[chunk.index] = self._frame(chunk.index)
        return self._event(chunk, extension, first=frame is None)

    def usage(self, usage: Usage) -> bytes:
        return _data({**self._fields, "choices": [], "usage": usage_json(usage)})

    def _event(self, chunk: AnswerChunk, extension: Json | None, *, first: bool) -> bytes:
        choice = {
            "index": chunk.index,
            **self._shape.event(chunk.text, first=first),
            "logprobs": self._shape.logprobs(chunk.logprobs) if chunk.logprobs else None,
            "finish_reason": finish_reason(chunk.finish),
        }
        return _data({**self._fields, "choices": [choice], **self._usage, **_extended(extension)})

    def _frame(self, index: int) -> tuple[bytes, bytes]:
        """What stands before and after the text of a plain event, found by rendering one."""
        mark = "\x00"
        head, _, tail = self._event(AnswerChunk(index, mark), None, first=False).partition(encode(mark))
        return head, tail


class Whole:
    """Gathers one response and writes it as a document."""

    def __init__(self, shape: Shape, envelope: Envelope, count: int) -> None:
        self._shape = shape
        self._fields = envelope.fields(shape.whole_object)
        self._texts: list[list[str]] = [[] for _ in range(count)]
        self._logprobs: list[list[TokenLogprob]] = [[] for _ in range(count)]
        self._finish: list[FinishReason | None] = [None] * count

    def add(self, chunk: AnswerChunk) -> None:
        self._texts[chunk.index].append(chunk.text)
        self._logprobs[chunk.index].extend(chunk.logprobs)
        self._finish[chunk.index] = chunk.finish

    def render(self, usage: Usage) -> bytes:
        extension = extension_of(usage, timed_out=FinishReason.TIMEOUT in self._finish)
        choices = [self._choice(index) for index in range(len(self._texts))]
        return encode(
            {**self._fields, "choices": choices, "usage": usage_json(usage), **_extended(extension)}
        )

    def _choice(self, index: int) -> Json:
        return {
            "index": index,
            **self._shape.whole("".join(self._texts[index])),
            "logprobs": self._shape.logprobs(self._logprobs[index]),
            "finish_reason": finish_reason(self._finish[index]),
        }


def usage_json(usage: Usage) -> Json:
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.prompt_tokens + usage.completion_tokens,
    }


def finish_reason(finish: FinishReason | None) -> str | None:
    """OpenAI's clients know no timeout: to them the answer is cut short, and `codex.stopped_by` tells why."""
    return "length" if finish is FinishReason.TIMEOUT else finish


def extension_of(usage: Usage, *, timed_out: bool) -> Json | None:
    found: Json = {"stopped_by": "timeout"} if timed_out else {}
    if usage.truncated_tokens:
        found["truncated_tokens"] = usage.truncated_tokens
    return found or None


def _extended(extension: Json | None) -> Json:
    return {"codex": extension} if extension else {}


def _data(document: Json) -> bytes:
    return b"data: " + encode(document) + b"\n\n"
