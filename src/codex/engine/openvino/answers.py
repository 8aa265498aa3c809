"""Where a request waits for what the worker has to say about it. Knows no process."""

from __future__ import annotations

import anyio

from codex.engine.openvino.wire import Piece
from codex.errors import CodexError, EngineError
from codex.types import EngineChunk, FinishReason

_FINISH = {"stop": FinishReason.STOP, "length": FinishReason.LENGTH}


class WorkerLost(EngineError):
    """The worker that had this request is gone. Whoever waits decides between asking again and giving up."""


class Answer:
    """The pieces of one answer that nobody has taken yet.

    A reader that is slow gets them merged into one chunk, so this never holds more than one answer's tokens
    and the worker's news are never held up.
    """

    def __init__(self) -> None:
        self._tokens: list[int] = []
        self._logprobs: list[float] = []
        self._finish: FinishReason | None = None
        self._error: CodexError | None = None
        self._news = anyio.Event()

    def push(self, piece: Piece) -> None:
        if piece.finish == "memory":
            self.fail(EngineError("the engine ran out of KV cache memory: raise CODEX_KV_CACHE_BYTES"))
            return
        self._tokens += piece.tokens
        self._logprobs += piece.logprobs
        self._finish = _FINISH.get(piece.finish)
        self._news.set()

    def fail(self, error: CodexError) -> None:
        self._error = error
        self._news.set()

    async def next(self) -> EngineChunk:
        """What came since the last call; waits when nothing did.

        Raises:
            CodexError: what `fail` was called with, after everything that came before it was taken.
        """
        await self._news.wait()
        if self._error is not None and not self._tokens:
            raise self._error
        chunk = EngineChunk(tuple(self._tokens), tuple(self._logprobs), self._finish)
        self._tokens, self._logprobs = [], []
        if self._error is None:
            self._news = anyio.Event()
        return chunk
