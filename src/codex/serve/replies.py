"""The shapes of answers and errors, for the OpenAPI document alone: answers are written without pydantic."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel

FinishReason = Literal["stop", "length"]


class Usage(BaseModel):
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class Extension(BaseModel):
    """What Codex adds: `stopped_by` tells a timeout from a length, `truncated_tokens` what was left out."""

    stopped_by: Literal["timeout"] | None = None
    truncated_tokens: int | None = None


class _Reply(BaseModel):
    id: str
    created: int
    model: str
    system_fingerprint: str
    usage: Usage
    codex: Extension | None = None


class CompletionLogprobs(BaseModel):
    tokens: list[str]
    token_logprobs: list[float]
    top_logprobs: list[dict[str, float]] | None
    text_offset: list[int]


class CompletionChoice(BaseModel):
    index: int
    text: str
    logprobs: CompletionLogprobs | None
    finish_reason: FinishReason


class CompletionReply(_Reply):
    object: Literal["text_completion"]
    choices: list[CompletionChoice]


class AnswerMessage(BaseModel):
    role: Literal["assistant"]
    content: str
    refusal: None = None


class TopLogprob(BaseModel):
    token: str
    logprob: float
    bytes: list[int]


class ChatTokenLogprob(TopLogprob):
    top_logprobs: list[TopLogprob]


class ChatLogprobs(BaseModel):
    content: list[ChatTokenLogprob]
    refusal: None = None


class ChatChoice(BaseModel):
    index: int
    message: AnswerMessage
    logprobs: ChatLogprobs | None
    finish_reason: FinishReason


class ChatReply(_Reply):
    object: Literal["chat.completion"]
    choices: list[ChatChoice]


class ModelReply(BaseModel):
    id: str
    object: Literal["model"]
    created: int
    owned_by: str
    release: str
    context_length: int
    quant: str
    backend: str


class ModelsReply(BaseModel):
    object: Literal["list"]
    data: list[ModelReply]


class Health(BaseModel):
    status: Literal["alive"]


class Readiness(BaseModel):
    status: Literal["ready"]
    release: str


class ErrorDetail(BaseModel):
    message: str
    type: str
    param: str | None
    code: str


class ErrorReply(BaseModel):
    error: ErrorDetail


_ERRORS = {
    400: "A field is wrong, fields contradict each other, or the prompt does not fit the model's window.",
    404: "No such model or path.",
    405: "The path exists, not for this method.",
    408: "Time ran out before the first token.",
    413: "The body is larger than the server takes.",
    429: "All places are taken and the queue is full; see Retry-After.",
    500: "The server or its engine failed on this request.",
    502: "The engine died while answering.",
    503: "No engine is ready; see Retry-After.",
}
_RETRY_AFTER = {"Retry-After": {"description": "Whole seconds.", "schema": {"type": "integer", "minimum": 0}}}


def errors(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The OpenAPI entries of these statuses."""
    entries: dict[int | str, dict[str, Any]] = {
        status: {"model": ErrorReply, "description": _ERRORS[status]} for status in statuses
    }
    for status in {429, 503} & set(statuses):
        entries[status]["headers"] = _RETRY_AFTER
    return entries


def answers(reply: type[BaseModel]) -> dict[int | str, dict[str, Any]]:
    """The OpenAPI entries of a generating operation: one JSON document or server-sent events."""
    stream = {"text/event-stream": {"schema": {"description": "Chunks, then [DONE]."}}}
    ok = {"model": reply, "description": "The answer.", "content": stream}
    return {200: ok, **errors(400, 404, 405, 408, 413, 429, 500, 502, 503)}
