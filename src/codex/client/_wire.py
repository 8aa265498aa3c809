"""The OpenAI wire format as the client writes and reads it. Knows no connection."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

import msgspec

from codex.client._values import Chunk, Completion, Health, ServedModel
from codex.errors import ClientError
from codex.types import Message, SourceFile, Usage

Json = dict[str, object]
_Shape = TypeVar("_Shape")

RELEASE_HEADER = "x-codex-release"
SECURITY_LEVEL_HEADER = "x-codex-security-level"
TRUNCATED_HEADER = "x-codex-truncated-tokens"
REQUEST_ID_HEADER = "x-request-id"


class _Text(msgspec.Struct):
    content: str | None = None


class _Choice(msgspec.Struct):
    text: str | None = None
    index: int = 0
    finish_reason: str | None = None
    delta: _Text | None = None
    message: _Text | None = None

    def content(self) -> str:
        """The text, wherever this endpoint puts it: completions, streamed chat, whole chat."""
        chat = self.delta or self.message
        return self.text or (chat.content if chat else None) or ""


class _Usage(msgspec.Struct):
    prompt_tokens: int
    completion_tokens: int = 0


class _Extension(msgspec.Struct, frozen=True):
    """Codex's own part of an answer."""

    stopped_by: str | None = None


class _Failure(msgspec.Struct):
    message: str = ""
    code: str | int | None = None
    type: str | None = None


class _Event(msgspec.Struct):
    choices: list[_Choice] = []
    usage: _Usage | None = None
    codex: _Extension = _Extension()
    error: _Failure | str | None = None


class _Model(msgspec.Struct):
    id: str
    owned_by: str = ""
    context_length: int = 0
    release: str = ""


class _Models(msgspec.Struct):
    data: list[_Model]


def body(**fields: object) -> Json:
    """The fields that were given: a server's default stands for the ones that were not."""
    return {name: value for name, value in fields.items() if value is not None}


def messages_field(messages: Iterable[Message | Mapping[str, str]]) -> list[Json]:
    return [
        {"role": message.role, "content": message.content} if isinstance(message, Message) else dict(message)
        for message in messages
    ]


def context_field(files: Sequence[SourceFile] | None) -> list[Json] | None:
    return [{"path": file.path, "text": file.text} for file in files] if files else None


def read_answer(content: bytes, headers: Mapping[str, str]) -> Completion:
    event = _decode(content, _Event)
    if event.error is not None or not event.choices:
        raise failure_in(event)
    choice = event.choices[0]
    return Completion(
        text=choice.content(),
        finish_reason=_finish(choice, event),
        usage=_usage(event, truncated_in(headers)),
        release=headers.get(RELEASE_HEADER, ""),
        request_id=headers.get(REQUEST_ID_HEADER, ""),
    )


def read_event(data: str, truncated_tokens: int) -> tuple[list[Chunk], Usage | None]:
    """The pieces in one streamed event, and the usage where it stands in it.

    Raises:
        ClientError: the server reports that it broke off, or this is no event of an answer.
    """
    event = _decode(data, _Event)
    if event.error is not None:
        raise failure_in(event)
    pieces = [Chunk(choice.content(), choice.index, _finish(choice, event)) for choice in event.choices]
    return [piece for piece in pieces if piece.text or piece.finish_reason], _usage(event, truncated_tokens)


def truncated_in(headers: Mapping[str, str]) -> int:
    """Prompt tokens that were left out; the header is absent where there were none."""
    return int(headers.get(TRUNCATED_HEADER, "0"))


def read_models(content: bytes) -> tuple[ServedModel, ...]:
    listed = _decode(content, _Models).data
    return tuple(
        ServedModel(entry.id, entry.owned_by, entry.context_length, entry.release) for entry in listed
    )


def read_health(status: int, content: bytes) -> Health:
    """What /readyz says: any 2xx is ready, the body of anything else is the reason."""
    ready = 200 <= status < 300
    return Health(alive=True, ready=ready, detail="" if ready else str(refusal(status, content, None)))


def failure_in(event: _Event) -> ClientError:
    error = event.error
    if isinstance(error, _Failure):
        return ClientError(f"the server broke off: {error.message}", code=_code(error))
    return ClientError(f"the server broke off: {error or 'the answer holds no choice'}", code="interrupted")


def refusal(status: int, content: bytes, retry_after: str | None) -> ClientError:
    """A non-2xx answer as our error. Servers of other makes may put any text where OpenAI has `error`."""
    message, code = content[:200].decode("utf-8", errors="replace"), "client_error"
    try:
        error = msgspec.json.decode(content, type=_Event).error
    except msgspec.MsgspecError:
        error = None
    if isinstance(error, _Failure):
        message, code = error.message or message, _code(error)
    return ClientError(
        f"the server answered {status}: {message}",
        status=status,
        code=code,
        retry_after_s=_seconds(retry_after),
    )


def _code(error: _Failure) -> str:
    return str(error.code or error.type or "client_error")


def _seconds(header: str | None) -> float | None:
    """Retry-After in seconds. Its other form, a date, is not sent by model servers and counts as absent."""
    try:
        return max(0.0, float(header)) if header else None
    except ValueError:
        return None


def _usage(event: _Event, truncated_tokens: int) -> Usage | None:
    found = event.usage
    return Usage(found.prompt_tokens, found.completion_tokens, truncated_tokens) if found else None


def _finish(choice: _Choice, event: _Event) -> str | None:
    """OpenAI's clients know no `timeout`, so the server calls it `length` and tells the truth beside it."""
    return choice.finish_reason and (event.codex.stopped_by or choice.finish_reason)


def _decode(content: bytes | str, shape: type[_Shape]) -> _Shape:
    try:
        return msgspec.json.decode(content, type=shape)
    except msgspec.MsgspecError as error:
        raise ClientError(
            f"this is not what an OpenAI-compatible server answers ({error}): check base_url",
            code="not_openai",
        ) from error
