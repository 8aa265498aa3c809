"""Whatever is measured, seen through an OpenAI-compatible URL: one ruler for us and for our peers.

Knows the wire format and how long an answer took; knows no data set and no score.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType, TracebackType
from typing import Any, Literal, Self

import httpx2
from tenacity import AsyncRetrying, retry_if_exception_type, stop_after_attempt, wait_exponential_jitter

from codex.errors import ClientError, ConnectionFailed, EvaluationError, ResponseTimeout
from codex.evals.wire import Extras, fim_text, piece_of, request_body
from codex.types import ChatInput, FimInput, Sampling, TextInput

FimStyle = Literal["suffix", "template"]
"""`suffix`: the field of /v1/completions; `template`: the special tokens written out in the prompt."""

GREEDY = Sampling(max_tokens=512, temperature=0.0, top_p=1.0)
"""What an evaluation uses unless it says otherwise."""


@dataclass(frozen=True, slots=True)
class TargetAnswer:
    """One answer and what it cost.

    `ttft_s` runs from the call to the first text (None: there was no text), `total_s` to the end; both
    are of the last try. Token counts are None where the server does not tell or the stream was left early.
    `finish_reason` is the server's, or `client_stop` when `until` ended the stream.
    """

    text: str
    ttft_s: float | None
    total_s: float
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    finish_reason: str | None = None
    headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


class Target:
    """A server under measurement. Use it as an async context manager; one instance may serve many tasks.

    `base_url` with or without the trailing `/v1`. `model` None takes the first one that the server lists.
    `retries` counts further tries after 429, 5xx and lost connections; 0 for whoever measures refusals.
    """

    def __init__(
        self,
        base_url: str,
        model: str | None = None,
        *,
        fim: FimStyle = "suffix",
        api_key: str = "none",
        timeout_s: float = 600.0,
        retries: int = 5,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        self.base_url = base_url.rstrip("/").removesuffix("/v1") + "/v1"
        self.fim = fim
        self._model = model
        self._retries = retries
        self._client = httpx2.AsyncClient(
            timeout=httpx2.Timeout(timeout_s, connect=10.0),
            limits=httpx2.Limits(max_connections=256, max_keepalive_connections=64),
            headers={"Authorization": f"Bearer {api_key}"},
            transport=transport,
        )

    async def __aenter__(self) -> Self:
        await self._client.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._client.__aexit__(kind, error, trace)

    @property
    def model(self) -> str:
        """Name that is sent as `model`. Known after `describe()` when none was given."""
        if self._model is None:
            raise EvaluationError("the model's name is not known yet: give one, or await describe() first")
        return self._model

    async def describe(self) -> dict[str, Any]:
        """The server's own entry for the model in /v1/models, empty where it lists none."""
        listed = (await self._get_json("/models")).get("data") or []
        if self._model is None:
            if not listed:
                raise EvaluationError(f"{self.base_url}/models lists no model: name one with --model")
            self._model = str(listed[0]["id"])
        return next((dict(entry) for entry in listed if entry.get("id") == self._model), {})

    async def complete(
        self,
        input: TextInput | FimInput | ChatInput,
        sampling: Sampling = GREEDY,
        *,
        stop: tuple[str, ...] = (),
        until: Callable[[str], bool] | None = None,
        extras: Extras | None = None,
    ) -> TargetAnswer:
        """One answer, streamed inside so that the time to first text is known.

        `until` sees the text so far after each piece; True closes the stream, which frees the server's place.

        Raises:
            ClientError: the server refused, with its status and code.
            ConnectionFailed, ResponseTimeout: nothing or nothing in time came back.
        """
        if self._model is None:
            await self.describe()
        if isinstance(input, FimInput) and self.fim == "template":
            input = TextInput(fim_text(input))
        sent = (extras or Extras()) if self.fim == "suffix" else None
        path, body = request_body(self.model, input, sampling, stop, sent)
        async for attempt in self._tries():
            with attempt:
                return await self._stream(path, body, until)
        raise AssertionError("tenacity ends by returning or raising")

    def _tries(self) -> AsyncRetrying:
        return AsyncRetrying(
            retry=retry_if_exception_type(_Passing),
            stop=stop_after_attempt(self._retries + 1),
            wait=wait_exponential_jitter(multiplier=0.2, max=10.0),
            reraise=True,
        )

    async def _stream(
        self, path: str, body: dict[str, Any], until: Callable[[str], bool] | None
    ) -> TargetAnswer:
        started = time.perf_counter()
        reading = _Reading(started)
        try:
            async with self._client.stream("POST", self.base_url + path, json=body) as response:
                if response.status_code != 200:
                    await response.aread()
                    raise _refusal(response)
                reading.headers = dict(response.headers)
                async for event in httpx2.EventSource(response):
                    if reading.take(event.data) or (until is not None and reading.left_by(until)):
                        break
        except httpx2.TimeoutException as error:
            raise ResponseTimeout(f"{self.base_url}{path} gave no answer in time: {error}") from error
        except httpx2.TransportError as error:
            raise _Lost(f"{self.base_url}{path} could not be reached or broke off: {error!r}") from error
        return reading.answer()

    async def _get_json(self, path: str) -> dict[str, Any]:
        try:
            response = await self._client.get(self.base_url + path)
        except httpx2.TransportError as error:
            raise ConnectionFailed(f"nothing answered at {self.base_url}{path}: {error!r}") from error
        if response.status_code != 200:
            raise _refusal(response)
        found: dict[str, Any] = response.json()
        return found


class _Passing(ClientError):
    """A refusal or a loss that may be gone at the next try."""


class _Lost(_Passing, ConnectionFailed):
    pass


def _refusal(response: httpx2.Response) -> ClientError:
    kind = _Passing if response.status_code in {408, 429, 500, 502, 503, 504} else ClientError
    try:
        error = response.json().get("error", {})
    except (ValueError, AttributeError):
        error = {}
    message = error.get("message") if isinstance(error, dict) else str(error)
    return kind(
        f"{response.request.url} answered {response.status_code}: {message or response.text[:200]}",
        status=response.status_code,
        code=str(error.get("code") or "client_error") if isinstance(error, dict) else "client_error",
    )


class _Reading:
    """One stream while it is read."""

    def __init__(self, started: float) -> None:
        self._started = started
        self._first: float | None = None
        self._text: list[str] = []
        self._finish: str | None = None
        self._prompt: int | None = None
        self._completion: int | None = None
        self.headers: Mapping[str, str] = {}

    def take(self, data: str) -> bool:
        """Reads one event; True when the stream is over."""
        if data.strip() == "[DONE]":
            return True
        piece = piece_of(data)
        if piece.text:
            self._first = self._first or time.perf_counter()
            self._text.append(piece.text)
        self._finish = piece.finish or self._finish
        self._prompt = self._prompt if piece.prompt_tokens is None else piece.prompt_tokens
        self._completion = self._completion if piece.completion_tokens is None else piece.completion_tokens
        return False

    def left_by(self, until: Callable[[str], bool]) -> bool:
        if self._finish is not None or not self._text or not until("".join(self._text)):
            return False
        self._finish = "client_stop"
        return True

    def answer(self) -> TargetAnswer:
        return TargetAnswer(
            text="".join(self._text),
            ttft_s=None if self._first is None else self._first - self._started,
            total_s=time.perf_counter() - self._started,
            prompt_tokens=self._prompt,
            completion_tokens=self._completion,
            finish_reason=self._finish,
            headers=self.headers,
        )
