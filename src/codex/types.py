"""The nouns that every room shares. Knows no room, no transport and no library."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, NewType, Protocol

ReleaseId = NewType("ReleaseId", str)
"""Digest of base weights, adapter and prompt template: what is served, canaried and rolled back."""


AttentionType = Literal["dense", "trishape", "xattention"]
"""How an engine reads prompts: every token sees all before it, or a sparse choice of them."""


class FinishReason(StrEnum):
    """Why an answer ended. An answer that failed has no reason: it raises."""

    STOP = "stop"
    LENGTH = "length"
    CANCELLED = "cancelled"
    TIMEOUT = "timeout"


@dataclass(frozen=True, slots=True)
class Sampling:
    """How the next token is chosen. `temperature` 0 is greedy; `top_k` 0 means no limit."""

    max_tokens: int = 128
    temperature: float = 0.3
    top_p: float = 0.95
    top_k: int = 0
    frequency_penalty: float = 0.0
    presence_penalty: float = 0.0
    repetition_penalty: float = 1.0
    seed: int | None = None
    logprobs: bool = False


@dataclass(frozen=True, slots=True)
class EngineRequest:
    """What an engine gets: prompt token ids, how to sample, which ids end the answer."""

    id: str
    tokens: tuple[int, ...]
    sampling: Sampling
    stop_token_ids: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class EngineChunk:
    """A piece of an engine's answer. The last one carries `finish`.

    `tokens` never holds the stop token itself. `logprobs` are natural logarithms of the chosen
    tokens, one for each of `tokens`, empty when they were not asked for.
    """

    tokens: tuple[int, ...]
    logprobs: tuple[float, ...] = ()
    finish: FinishReason | None = None


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """What an engine serves. `name` is a label for people; `release` is the key."""

    name: str
    release: ReleaseId
    context_length: int
    template: str
    quant: str
    backend: str


class EngineState(StrEnum):
    STOPPED = "stopped"
    STARTING = "starting"
    READY = "ready"
    RESTARTING = "restarting"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class EngineStatus:
    """A snapshot of an engine for health checks and metrics. Bytes are of the engine's own process."""

    state: EngineState
    running: int = 0
    waiting: int = 0
    restarts: int = 0
    pid: int | None = None
    rss_bytes: int = 0
    kv_cache_bytes: int = 0
    kv_cache_used_share: float = 0.0
    detail: str = ""


class Tokenizer(Protocol):
    """Text to ids and back. User text never becomes a special token."""

    @property
    def vocab_size(self) -> int: ...

    def encode(self, text: str) -> list[int]:
        """Ids of `text` as plain text, whole whatever its length: a special token's string inside it
        is encoded as the characters it is made of."""
        ...

    def token_bytes(self, token: int) -> bytes:
        """The bytes that `token` stands for; empty for special tokens and unused ids."""
        ...

    def special(self, name: str) -> int:
        """Id of the special token written `name`, such as `<|fim_prefix|>`.

        Raises:
            KeyError: the vocabulary has no such special token.
        """
        ...


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file given as context. `path` is relative to its repository, with forward slashes."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class Message:
    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class TextInput:
    """Continue this text, or exactly these token ids."""

    text: str | tuple[int, ...]


@dataclass(frozen=True, slots=True)
class FimInput:
    """Fill in between `prefix` and `suffix` of the file `path`; `context` holds other open files."""

    prefix: str
    suffix: str
    path: str | None = None
    repository: str | None = None
    context: tuple[SourceFile, ...] = ()


@dataclass(frozen=True, slots=True)
class ChatInput:
    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class Request:
    """What a client asks for, whatever the transport.

    `truncate` allows a prompt that does not fit to be shortened, and the answer says by how much.
    `cleanup` runs the answer passes on fill-in-the-middle answers. `single_line` ends such an answer
    at the end of its first line. `n` answers share one prompt.
    """

    id: str
    input: TextInput | FimInput | ChatInput
    sampling: Sampling = field(default_factory=Sampling)
    stop: tuple[str, ...] = ()
    n: int = 1
    language: str | None = None
    user: str | None = None
    truncate: bool = False
    cleanup: bool = True
    single_line: bool = False
    timeout_s: float | None = None


@dataclass(frozen=True, slots=True)
class Prompt:
    """What an engine will read. `truncated_tokens` counts what was left out to make it fit."""

    tokens: tuple[int, ...]
    stop_token_ids: frozenset[int]
    truncated_tokens: int = 0


@dataclass(frozen=True, slots=True)
class TokenLogprob:
    """`offset` counts characters from the start of the answer."""

    token: str
    raw: bytes
    logprob: float
    offset: int


@dataclass(frozen=True, slots=True)
class AnswerChunk:
    """A piece of answer number `index`. The last one of an answer carries `finish`."""

    index: int
    text: str
    logprobs: tuple[TokenLogprob, ...] = ()
    finish: FinishReason | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts of one request over all its answers."""

    prompt_tokens: int
    completion_tokens: int
    truncated_tokens: int = 0
