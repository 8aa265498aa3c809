"""OpenVINO's pipeline as the worker needs it: give it portions and answers, step, take the pieces.

Knows no socket and no pacing. Callback streamers serve a single request only, so each answer is read through
its own handle; a duplicate request id would be accepted silently, so ids are counted here.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from itertools import count

import numpy as np
import openvino as ov
import openvino_genai as genai

from codex.engine.openvino.lineup import Portion
from codex.engine.openvino.sampling import generation_config, portion_config
from codex.engine.openvino.wire import Piece

_FINISH = {genai.GenerationFinishReason.STOP: "stop", genai.GenerationFinishReason.LENGTH: "length"}


@dataclass(slots=True)
class _Answer:
    handle: genai.py_openvino_genai.GenerationHandle
    stops: frozenset[int]
    logprobs: bool


class Batch:
    """The answers and portions that the pipeline works on."""

    def __init__(self, pipeline: genai.ContinuousBatchingPipeline) -> None:
        self._pipeline = pipeline
        self._numbers = count(1)
        self._portion_config = portion_config()
        self._answers: dict[int, _Answer] = {}
        self._portions: dict[int, tuple[Portion, genai.py_openvino_genai.GenerationHandle]] = {}

    def begin(self, portion: Portion) -> None:
        """Reads a portion of a prompt in the next step; the last one starts the answer.

        Raises:
            RuntimeError: OpenVINO refuses the request.
        """
        sequence = portion.sequence
        tokens = sequence.tokens[: portion.end]
        if portion.last:
            handle = self._add(tokens, generation_config(sequence.submit))
            stops = frozenset(sequence.submit.stop_token_ids)
            self._answers[sequence.id] = _Answer(handle, stops, sequence.submit.logprobs)
        else:
            self._portions[sequence.id] = (portion, self._add(tokens, self._portion_config))

    def cancel(self, id_: int) -> None:
        """Ends `id_` before it takes part in another step; the next step frees its memory."""
        answer = self._answers.pop(id_, None)
        if answer:
            answer.handle.cancel()
        _, handle = self._portions.pop(id_, (None, None))
        if handle:
            handle.cancel()

    def step(self) -> tuple[list[Portion], list[Piece]]:
        """One step of everything; returns the portions that have been read and what the answers gained."""
        self._pipeline.step()
        return self._portions_read(), self._pieces()

    def settle(self) -> None:
        """Lets the pipeline free what was cancelled; costs nothing, as nothing else is in it."""
        while self._pipeline.has_non_finished_requests():
            self._pipeline.step()

    @property
    def kv_used_share(self) -> float:
        return float(self._pipeline.get_metrics().cache_usage) / 100

    def _add(
        self, tokens: array[int], config: genai.GenerationConfig
    ) -> genai.py_openvino_genai.GenerationHandle:
        ids = np.frombuffer(tokens, dtype=np.int32).astype(np.int64).reshape(1, -1)
        return self._pipeline.add_request(next(self._numbers), ov.Tensor(ids), config)

    def _portions_read(self) -> list[Portion]:
        running = genai.GenerationStatus.RUNNING
        read = [portion for portion, handle in self._portions.values() if handle.get_status() != running]
        for portion in read:
            del self._portions[portion.sequence.id]
        return read

    def _pieces(self) -> list[Piece]:
        pieces = [piece for id_, answer in self._answers.items() if (piece := _read(id_, answer))]
        for piece in pieces:
            if piece.finish:
                del self._answers[piece.id]
        return pieces


def _read(id_: int, answer: _Answer) -> Piece | None:
    tokens: list[int] = []
    logprobs: list[float] = []
    finish = ""
    while answer.handle.can_read():
        for output in answer.handle.read().values():
            tokens += output.generated_ids
            logprobs += output.generated_log_probs
            finish = _FINISH.get(output.finish_reason, finish)
    if answer.handle.get_status() == genai.GenerationStatus.IGNORED:
        finish = "memory"
    if finish == "stop" and tokens and tokens[-1] in answer.stops:
        del tokens[-1], logprobs[-1]
    if not tokens and not finish:
        return None
    return Piece(id_, tokens, logprobs if answer.logprobs else [], finish)
