"""Request bodies of the OpenAI-compatible interface, and how each becomes requests. Knows no answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from codex.errors import RequestError
from codex.serve.sampling import PRESETS, frequency_penalty
from codex.settings import Preset
from codex.types import (
    ChatInput,
    FimInput,
    Message,
    Request,
    Sampling,
    SourceFile,
    TextInput,
    Tokenizer,
)

MAX_ANSWERS = 16
MAX_PROMPTS = 16
MAX_STOPS = 16


def _whole(text: str) -> str:
    """JSON can spell half of a surrogate pair, which no file and no wire can hold: U+FFFD takes its place."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


Text = Annotated[str, AfterValidator(_whole)]
Name = Annotated[str, AfterValidator(_whole), Field(max_length=1024)]
TokenIds = Annotated[list[Annotated[int, Field(ge=0, lt=2**31)]], Field(min_length=1)]
Stop = Annotated[Text, Field(min_length=1, max_length=256)]
NoList = Annotated[list[object], Field(max_length=0)]
NoChoice = Literal["none", "auto"]

UNSUPPORTED = frozenset(
    {"tools", "tool_choice", "functions", "function_call", "response_format", "logit_bias"}
)
"""Fields that would change the answer and are not followed here: only their neutral values are accepted."""


class _Body(BaseModel):
    """Types are strict, as JSON Schema has them: `"1"` is no number. Unknown fields are ignored."""

    model_config = ConfigDict(strict=True, allow_inf_nan=False)


class ContextFile(_Body):
    """Another file that the model may look at, such as one that is open in the editor."""

    path: Name
    text: Text


class StreamOptions(_Body):
    include_usage: bool | None = None


class _SamplingBody(_Body):
    """What completions and chat have in common."""

    model: Name | None = Field(
        None, description="A name or id from /v1/models; the served model if left out."
    )
    temperature: float | None = Field(None, ge=0, le=2)
    top_p: float | None = Field(None, gt=0, le=1)
    top_k: int | None = Field(None, ge=0, le=1_000_000, description="0 means no limit.")
    frequency_penalty: float | None = Field(None, ge=-2, le=2)
    presence_penalty: float | None = Field(None, ge=-2, le=2)
    repetition_penalty: float | None = Field(None, gt=0, le=10)
    seed: int | None = Field(None, ge=-(2**63), lt=2**63)
    n: int | None = Field(None, ge=1, le=MAX_ANSWERS)
    stop: Stop | Annotated[list[Stop], Field(max_length=MAX_STOPS)] | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    user: Name | None = None
    language: Name | None = Field(None, description="Programming language, for clean-up and metrics.")
    truncate: bool = Field(False, description="Shorten a prompt that does not fit instead of refusing it.")
    timeout: float | None = Field(
        None, gt=0, le=3600, description="Seconds for this request, waiting included."
    )
    logit_bias: Annotated[dict[str, float], Field(max_length=0)] | None = None

    @property
    def answers(self) -> int:
        return self.n or 1

    @property
    def wants_usage(self) -> bool:
        return bool(self.stream_options and self.stream_options.include_usage)

    @property
    def stops(self) -> tuple[str, ...]:
        return (self.stop,) if isinstance(self.stop, str) else tuple(self.stop or ())

    def sampling_with(self, preset: Preset, *, max_tokens: int | None, logprobs: bool) -> Sampling:
        defaults = PRESETS[preset]
        temperature = defaults.temperature if self.temperature is None else self.temperature
        return Sampling(
            max_tokens=defaults.max_tokens if max_tokens is None else max_tokens,
            temperature=temperature,
            top_p=defaults.top_p if self.top_p is None else self.top_p,
            top_k=self.top_k or 0,
            frequency_penalty=frequency_penalty(self.frequency_penalty, temperature, defaults),
            presence_penalty=self.presence_penalty or 0.0,
            repetition_penalty=1.0 if self.repetition_penalty is None else self.repetition_penalty,
            seed=None if self.seed is None else self.seed % 2**32,
            logprobs=logprobs,
        )


class CompletionBody(_SamplingBody):
    """A prompt to continue or, with `suffix` (also an empty one), a gap to fill in."""

    prompt: (
        Text
        | Annotated[list[Text], Field(min_length=1, max_length=MAX_PROMPTS)]
        | TokenIds
        | Annotated[list[TokenIds], Field(min_length=1, max_length=MAX_PROMPTS)]
    )
    suffix: Text | None = None
    max_tokens: int | None = Field(None, ge=1, le=1_000_000)
    echo: bool | None = None
    best_of: int | None = Field(None, ge=1, le=MAX_ANSWERS, description="Accepted when it equals n.")
    logprobs: int | None = Field(
        None, ge=0, le=5, description="The engine knows the chosen token's only; more are not listed."
    )
    path: Name | None = Field(None, description="Path of the file that is being written.")
    repository: Name | None = None
    context_files: list[ContextFile] | None = Field(None, max_length=64)
    cleanup: bool = Field(True, description="Clean up a fill-in answer so that it fits what follows.")
    single_line: bool = Field(False, description="End a fill-in answer at the end of its line.")

    def requests(self, request_id: str, preset: Preset) -> list[Request]:
        """One request for each prompt.

        Raises:
            RequestError: fields that are fine alone and make no sense together.
        """
        self._check()
        sampling = self.sampling_with(preset, max_tokens=self.max_tokens, logprobs=self.logprobs is not None)
        return [
            Request(
                id=request_id,
                input=self._input(prompt),
                sampling=sampling,
                stop=self.stops,
                n=self.answers,
                language=self.language,
                user=self.user,
                truncate=self.truncate,
                cleanup=self.cleanup,
                single_line=self.single_line,
                timeout_s=self.timeout,
            )
            for prompt in self._prompts()
        ]

    def echoes(self, tokenizer: Tokenizer) -> list[str]:
        """What stands before each prompt's answers: nothing, or the prompt where `echo` asks for it."""
        return [_shown(prompt, tokenizer) if self.echo else "" for prompt in self._prompts()]

    def _prompts(self) -> Iterator[str | tuple[int, ...]]:
        if isinstance(self.prompt, str):
            yield self.prompt
        elif isinstance(self.prompt[0], int):
            yield tuple(self.prompt)
        else:
            yield from (each if isinstance(each, str) else tuple(each) for each in self.prompt)

    def _input(self, prompt: str | tuple[int, ...]) -> TextInput | FimInput:
        if self.suffix is None:
            return TextInput(prompt)
        if not isinstance(prompt, str):
            raise RequestError("a suffix goes with a text prompt, not with token ids", param="suffix")
        context = tuple(SourceFile(file.path, file.text) for file in self.context_files or ())
        return FimInput(prompt, self.suffix, self.path, self.repository, context)

    def _check(self) -> None:
        if self.best_of not in (None, self.answers):
            raise RequestError("best_of is supported only where it equals n", param="best_of")
        if self.echo and self.logprobs is not None:
            raise RequestError(
                "logprobs of a prompt are not available: leave out echo or logprobs", param="echo"
            )


def _shown(prompt: str | tuple[int, ...], tokenizer: Tokenizer) -> str:
    if isinstance(prompt, str):
        return prompt
    return b"".join(map(tokenizer.token_bytes, prompt)).decode("utf-8", "replace")


class TextPart(_Body):
    type: Literal["text"]
    text: Text


class ChatMessage(_Body):
    role: Literal["system", "developer", "user", "assistant"]
    content: Text | Annotated[list[TextPart], Field(min_length=1)]

    def message(self) -> Message:
        text = self.content if isinstance(self.content, str) else "".join(part.text for part in self.content)
        return Message("system" if self.role == "developer" else self.role, text)


class ResponseFormat(_Body):
    """Only plain text; a model of this size cannot be trusted to keep to a schema."""

    type: Literal["text"]


class ChatBody(_SamplingBody):
    messages: list[ChatMessage] = Field(min_length=1, max_length=2048)
    max_tokens: int | None = Field(None, ge=1, le=1_000_000)
    max_completion_tokens: int | None = Field(None, ge=1, le=1_000_000)
    logprobs: bool | None = None
    top_logprobs: int | None = Field(
        None, ge=0, le=20, description="The engine knows the chosen token's only; more are not listed."
    )
    response_format: ResponseFormat | None = None
    tools: NoList | None = None
    tool_choice: NoChoice | None = None
    functions: NoList | None = None
    function_call: NoChoice | None = None

    def request(self, request_id: str, preset: Preset) -> Request:
        """
        Raises:
            RequestError: fields that are fine alone and make no sense together.
        """
        if self.top_logprobs is not None and not self.logprobs:
            raise RequestError("top_logprobs needs logprobs to be true", param="top_logprobs")
        max_tokens = self.max_completion_tokens if self.max_tokens is None else self.max_tokens
        return Request(
            id=request_id,
            input=ChatInput(tuple(message.message() for message in self.messages)),
            sampling=self.sampling_with(preset, max_tokens=max_tokens, logprobs=bool(self.logprobs)),
            stop=self.stops,
            n=self.answers,
            language=self.language,
            user=self.user,
            truncate=self.truncate,
            timeout_s=self.timeout,
        )
