"""The blocking client. Knows how to ask; what to send, when to retry and how to read stand beside it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Generic, Literal, Self, TypeVar, overload

import httpx2

from codex.client import _policy, _wire
from codex.client._policy import Policy
from codex.client._streams import CompletionStream
from codex.client._values import Completion, Health, ServedModel
from codex.errors import ClientError
from codex.types import Message, SourceFile

AnswerT = TypeVar("AnswerT", Completion, CompletionStream, Completion | CompletionStream)


class CodexClient(Generic[AnswerT]):
    """Talks to a Codex server, or to any OpenAI-compatible one, over HTTP. Safe to share between threads.

    Args:
        base_url: where the server listens, with or without `/v1`.
        api_key: sent as a bearer token where given.
        streaming: `complete` and `chat` return a `CompletionStream` of chunks, else a whole `Completion`.
        chunk_timeout: milliseconds. A stream hands over what has arrived at once; when nothing arrived for
            this long after its first piece, it hands over an idle chunk (no text, `idle` set) instead of
            blocking on. It never ends an answer: only `timeout` does.
        timeout: seconds for one whole answer, from the call to its last byte.
        max_retries: further tries when nothing of an answer was received: connection lost or refused, 429,
            503. Retry-After is kept to; a server that asks for more than 20 s is not tried again.

    Every method raises `ClientError` (with the server's `status` and `code`), `ConnectionFailed` or
    `ResponseTimeout`.
    """

    @overload
    def __init__(
        self: CodexClient[Completion],
        base_url: str = ...,
        api_key: str | None = ...,
        streaming: Literal[False] = ...,
        chunk_timeout: float = ...,
        timeout: float = ...,
        max_retries: int = ...,
    ) -> None: ...

    @overload
    def __init__(
        self: CodexClient[CompletionStream],
        base_url: str = ...,
        api_key: str | None = ...,
        *,
        streaming: Literal[True],
        chunk_timeout: float = ...,
        timeout: float = ...,
        max_retries: int = ...,
    ) -> None: ...

    @overload
    def __init__(
        self: CodexClient[Completion | CompletionStream],
        base_url: str = ...,
        api_key: str | None = ...,
        *,
        streaming: bool,
        chunk_timeout: float = ...,
        timeout: float = ...,
        max_retries: int = ...,
    ) -> None: ...

    def __init__(
        self,
        base_url: str = "http://127.0.0.1:8080",
        api_key: str | None = None,
        streaming: bool = False,
        chunk_timeout: float = 200,
        timeout: float = 60.0,
        max_retries: int = 2,
    ) -> None:
        self._policy = Policy(base_url, api_key, timeout, chunk_timeout / 1000, max_retries)
        self._streaming = streaming
        self._http = httpx2.Client(**_policy.http_options(self._policy))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    def complete(
        self,
        prompt: str,
        *,
        suffix: str | None = None,
        language: str | None = None,
        path: str | None = None,
        repository: str | None = None,
        context_files: Sequence[SourceFile] | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
        top_p: float | None = None,
        stop: str | Sequence[str] | None = None,
        seed: int | None = None,
        single_line: bool | None = None,
        truncate: bool | None = None,
        security_level: Literal["fast", "balanced", "strict"] | None = None,
        model: str | None = None,
        user: str | None = None,
        timeout: float | None = None,
    ) -> AnswerT:
        """Continues `prompt`, or fills in between `prompt` and `suffix`.

        What is left out is not sent, so the server's default stands. `language`, `path`, `repository`,
        `context_files`, `single_line`, `truncate`, `security_level` and `timeout` (seconds for this answer,
        in client and server) are Codex's own fields beside OpenAI's. `SecurityLevelIgnored` is warned of
        where the server does not confirm the security level that was asked for.
        """
        fields = _wire.body(
            prompt=prompt,
            suffix=suffix,
            language=language,
            path=path,
            repository=repository,
            context_files=_wire.context_field(context_files),
            max_tokens=max_tokens,
            temperature=temperature,
            top_p=top_p,
            stop=stop,
            seed=seed,
            single_line=single_line,
            truncate=truncate,
            security_level=security_level,
            model=model,
            user=user,
            timeout=timeout,
        )
        return self._answer("/v1/completions", fields, timeout)

    def chat(
        self,
        messages: Iterable[Message | Mapping[str, str]],
        *,
        max_tokens: int | None = None,
        temperature: float | None = None,
        top_p: float | None = None,
        stop: str | Sequence[str] | None = None,
        seed: int | None = None,
        truncate: bool | None = None,
        security_level: Literal["fast", "balanced", "strict"] | None = None,
        model: str | None = None,
        user: str | None = None,
        timeout: float | None = None,
    ) -> AnswerT:
        """Answers a conversation. `Completion.message` is the answer as its next message."""
        fields = _wire.body(
            messages=_wire.messages_field(messages),
            max_tokens=max_tokens,
            temperature=temperature,
            top_p=top_p,
            stop=stop,
            seed=seed,
            truncate=truncate,
            security_level=security_level,
            model=model,
            user=user,
            timeout=timeout,
        )
        return self._answer("/v1/chat/completions", fields, timeout)

    def models(self) -> tuple[ServedModel, ...]:
        return _wire.read_models(self._ask("GET", "/v1/models", None, self._policy).content)

    def health(self) -> Health:
        """Never raises for a server that is down or not ready: it says so."""
        try:
            with _policy.failures_before_the_answer(self._policy):
                response = self._http.get("/readyz")
        except ClientError as error:
            return Health(alive=False, ready=False, detail=str(error))
        return _wire.read_health(response.status_code, response.content)

    def _answer(self, path: str, fields: _wire.Json, timeout: float | None) -> AnswerT:
        answer: Completion | CompletionStream
        policy = self._policy.within(timeout)
        deadline = time.monotonic() + policy.timeout_s
        if self._streaming:
            fields |= {"stream": True, "stream_options": {"include_usage": True}}
            answer = CompletionStream(self._ask("POST", path, fields, policy), policy, deadline)
        else:
            response = self._ask("POST", path, fields, policy)
            answer = _wire.read_answer(response.content, response.headers)
        return answer  # type: ignore[return-value]  # the overloads of __init__ tie AnswerT to `streaming`

    def _ask(self, method: str, path: str, fields: _wire.Json | None, policy: Policy) -> httpx2.Response:
        """The first response that was not refused in passing; its body is read unless it streams."""
        for attempt in _policy.tries(policy):
            with attempt:
                return self._try(method, path, fields, policy)
        raise AssertionError("tenacity ends by returning or raising")

    def _try(self, method: str, path: str, fields: _wire.Json | None, policy: Policy) -> httpx2.Response:
        streamed = fields is not None and "stream" in fields
        request = self._http.build_request(method, path, json=fields, timeout=policy.http_timeout)
        with _policy.failures_before_the_answer(policy):
            response = self._http.send(request, stream=streamed)
            if streamed and not response.is_success:
                response.read()
                response.close()
        _policy.check_status(response)
        _policy.check_security_level(fields, response)
        return response
