"""The OpenAI wire format as an evaluation sends and reads it. Knows no connection."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from codex.errors import ClientError
from codex.types import ChatInput, FimInput, Sampling, TextInput


@dataclass(frozen=True, slots=True)
class Extras:
    """Fields of ours beside OpenAI's, sent to our own server only (`fim="suffix"`).

    `timeout_s` replaces the server's own limit for one request.
    """

    cleanup: bool = True
    single_line: bool = False
    language: str | None = None
    user: str | None = None
    truncate: bool = False
    timeout_s: float | None = None


@dataclass(frozen=True, slots=True)
class Piece:
    """What one event of a stream says."""

    text: str = ""
    finish: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


def fim_text(source: FimInput) -> str:
    """The prompt with Qwen2.5-Coder's special tokens written out, for servers that know no `suffix`.

    Order prefix, suffix, middle; other files in the repository form. Source: Qwen2.5-Coder's README.
    """
    middle = f"<|fim_prefix|>{source.prefix}<|fim_suffix|>{source.suffix}<|fim_middle|>"
    if not source.context:
        return middle
    files = "".join(f"<|file_sep|>{other.path}\n{other.text}\n" for other in source.context)
    path = source.path or "main"
    return f"<|repo_name|>{source.repository or 'repository'}\n{files}<|file_sep|>{path}\n{middle}"


def request_body(
    model: str,
    input: TextInput | FimInput | ChatInput,
    sampling: Sampling,
    stop: tuple[str, ...],
    extras: Extras | None,
) -> tuple[str, dict[str, Any]]:
    """Path under /v1 and JSON body. `extras` None means a peer: nothing beside OpenAI's own fields."""
    path, body = _input_fields(input, extras)
    body |= {"model": model, "stream": True, "stream_options": {"include_usage": True}}
    body |= _sampling_fields(sampling, ours=extras is not None)
    if stop:
        body["stop"] = list(stop)
    if extras is not None:
        body |= _extra_fields(extras, fim=isinstance(input, FimInput))
    return path, body


def _input_fields(
    input: TextInput | FimInput | ChatInput, extras: Extras | None
) -> tuple[str, dict[str, Any]]:
    if isinstance(input, ChatInput):
        messages = [{"role": message.role, "content": message.content} for message in input.messages]
        return "/chat/completions", {"messages": messages}
    if isinstance(input, TextInput):
        text = input.text if isinstance(input.text, str) else list(input.text)
        return "/completions", {"prompt": text}
    body: dict[str, Any] = {"prompt": input.prefix, "suffix": input.suffix}
    if extras is not None:
        context = [{"path": other.path, "text": other.text} for other in input.context]
        ours = {"path": input.path, "repository": input.repository, "context_files": context}
        body |= {name: value for name, value in ours.items() if value}
    return "/completions", body


def _sampling_fields(sampling: Sampling, *, ours: bool) -> dict[str, Any]:
    body: dict[str, Any] = {
        "max_tokens": sampling.max_tokens,
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "frequency_penalty": sampling.frequency_penalty,
        "presence_penalty": sampling.presence_penalty,
    }
    if sampling.seed is not None:
        body["seed"] = sampling.seed
    if ours:
        body |= {"top_k": sampling.top_k, "repetition_penalty": sampling.repetition_penalty}
    return body


def _extra_fields(extras: Extras, *, fim: bool) -> dict[str, Any]:
    body: dict[str, Any] = {"truncate": True} if extras.truncate else {}
    named = {"language": extras.language, "user": extras.user, "timeout": extras.timeout_s}
    body |= {name: value for name, value in named.items() if value is not None}
    if fim:
        body |= {"cleanup": extras.cleanup, "single_line": extras.single_line}
    return body


def piece_of(data: str) -> Piece:
    """Reads one event's JSON.

    Raises:
        ClientError: the server reported an error in the middle of the stream.
    """
    event = json.loads(data)
    if "error" in event:
        error = event["error"] if isinstance(event["error"], dict) else {"message": str(event["error"])}
        raise ClientError(
            f"the server broke off: {error.get('message')}", code=str(error.get("code") or "client_error")
        )
    usage = event.get("usage") or {}
    choices = event.get("choices") or [{}]
    text = choices[0].get("text")
    if text is None:
        text = (choices[0].get("delta") or {}).get("content")
    return Piece(
        text or "",
        choices[0].get("finish_reason"),
        usage.get("prompt_tokens"),
        usage.get("completion_tokens"),
    )
