"""The messages between server and worker process, and how they are framed. Knows no engine and no event loop.

A frame is a little-endian 32-bit length and that many bytes of MessagePack. Token ids travel as packed
32-bit integers, so that a prompt of 30,000 tokens is one copy of 120 kB and not 30,000 objects.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterable

import msgspec

from codex.types import AttentionType

_LENGTH = struct.Struct("<I")
MAX_FRAME_BYTES = 64 << 20
"""More than this is no message of ours: the stream is broken."""


class Attention(msgspec.Struct, frozen=True):
    """How prompts are read: `trishape` keeps their `sink` first and their `recent` latest tokens in view."""

    kind: AttentionType = "dense"
    sink: int = 0
    recent: int = 0

    @property
    def label(self) -> str:
        return f"trishape:{self.sink}:{self.recent}" if self.kind == "trishape" else self.kind


DENSE = Attention()


class Config(msgspec.Struct, frozen=True, tag="config"):
    """First message to a worker: what to load and how much it may use. `threads` 0 means every core."""

    model_path: str
    max_num_seqs: int
    step_budget_ms: float
    kv_cache_bytes: int
    threads: int
    attention: Attention = DENSE


class Submit(msgspec.Struct, frozen=True, tag="submit"):
    """Start an answer. `id` is unique in the life of a worker; `seed` is always drawn by the server."""

    id: int
    tokens: bytes
    max_tokens: int
    temperature: float
    top_p: float
    top_k: int
    frequency_penalty: float
    presence_penalty: float
    repetition_penalty: float
    seed: int
    logprobs: bool
    stop_token_ids: tuple[int, ...]


class Cancel(msgspec.Struct, frozen=True, tag="cancel"):
    """Forget an answer. Unknown and finished ids are ignored: the answer may have just ended."""

    id: int


class Ready(msgspec.Struct, frozen=True, tag="ready"):
    """The worker can answer. `max_sequence_tokens` is the longest prompt plus answer that memory allows."""

    kv_cache_bytes: int
    max_sequence_tokens: int


class Piece(msgspec.Struct, frozen=True, array_like=True):
    """New tokens of one answer. `finish` is "", "stop", "length" or "memory"."""

    id: int
    tokens: list[int]
    logprobs: list[float]
    finish: str


class Step(msgspec.Struct, frozen=True, tag="step"):
    """What one engine step brought, for every answer at once, and how the engine stands after it.

    `read` lists the requests of which prompt tokens were read, and how many.
    """

    pieces: list[Piece]
    read: list[tuple[int, int]]
    running: int
    waiting: int
    kv_used_share: float
    steps: int
    step_ms: float


class Refused(msgspec.Struct, frozen=True, tag="refused"):
    """The engine library does not take this request, for the reason in `message`."""

    id: int
    message: str


ToWorker = Config | Submit | Cancel
FromWorker = Ready | Step | Refused

_encoder = msgspec.msgpack.Encoder()
_to_worker = msgspec.msgpack.Decoder(ToWorker)
_from_worker = msgspec.msgpack.Decoder(FromWorker)


def encode(message: ToWorker | FromWorker) -> bytes:
    """One whole frame."""
    body = _encoder.encode(message)
    return _LENGTH.pack(len(body)) + body


def decode_to_worker(body: bytes) -> ToWorker:
    """
    Raises:
        msgspec.DecodeError: not a message to a worker.
    """
    return _to_worker.decode(body)


def decode_from_worker(body: bytes) -> FromWorker:
    """
    Raises:
        msgspec.DecodeError: not a message from a worker.
    """
    return _from_worker.decode(body)


class Frames:
    """Cuts a byte stream into frame bodies, whatever the edges of the pieces that arrive."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        """The bodies that are complete once `data` has arrived.

        Raises:
            ValueError: a frame claims to be longer than `MAX_FRAME_BYTES`.
        """
        self._buffer += data
        bodies: list[bytes] = []
        while (body := self._next()) is not None:
            bodies.append(body)
        return bodies

    def _next(self) -> bytes | None:
        if len(self._buffer) < _LENGTH.size:
            return None
        (length,) = _LENGTH.unpack_from(self._buffer)
        if length > MAX_FRAME_BYTES:
            raise ValueError(f"a frame of {length} bytes: the stream is broken")
        end = _LENGTH.size + length
        if len(self._buffer) < end:
            return None
        body = bytes(self._buffer[_LENGTH.size : end])
        del self._buffer[:end]
        return body


def pack_tokens(tokens: Iterable[int]) -> bytes:
    return array("i", tokens).tobytes()


def unpack_tokens(packed: bytes) -> array[int]:
    tokens = array("i")
    tokens.frombytes(packed)
    return tokens
