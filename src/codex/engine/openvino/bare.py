"""The thinnest loop around OpenVINO's pipeline, in this very process: the baseline of `bench`.

No worker, no pacing, no limits: a prompt is read as fast as the library reads it. Its `step` holds the GIL,
so never use this in a server.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov
import openvino_genai as genai

from codex.engine.openvino.properties import kv_layout, load_pipeline
from codex.engine.openvino.sampling import generation_config
from codex.engine.openvino.wire import Submit, pack_tokens


@dataclass(slots=True)
class BareAnswer:
    """`at_s` holds, for each token, the seconds since all prompts were handed over."""

    tokens: list[int]
    at_s: list[float]

    @property
    def ttft_s(self) -> float:
        return self.at_s[0]

    @property
    def gaps_s(self) -> list[float]:
        return [later - earlier for earlier, later in zip(self.at_s, self.at_s[1:], strict=False)]


class BareEngine:
    """Loads the prepared model in the folder `path`; close it by dropping the last reference."""

    def __init__(
        self, path: Path, *, max_num_seqs: int = 64, kv_cache_bytes: int = 2 << 30, threads: int = 0
    ) -> None:
        layout = kv_layout(path)
        blocks = kv_cache_bytes // layout.block_bytes
        self._pipeline = load_pipeline(
            path, layout=layout, kv_blocks=blocks, max_num_seqs=max_num_seqs, threads=threads
        )
        self._number = 0

    def run(self, prompts: Sequence[Sequence[int]], *, max_tokens: int) -> list[BareAnswer]:
        """Greedy answers of exactly `max_tokens` tokens, all prompts at once."""
        started = time.perf_counter()
        handles = [self._add(prompt, max_tokens) for prompt in prompts]
        answers = [BareAnswer([], []) for _ in prompts]
        while self._pipeline.has_non_finished_requests():
            self._pipeline.step()
            now = time.perf_counter() - started
            for answer, handle in zip(answers, handles, strict=True):
                _read(answer, handle, now)
        return answers

    def _add(self, prompt: Sequence[int], max_tokens: int) -> Any:
        self._number += 1
        submit = Submit(
            id=self._number,
            tokens=pack_tokens(prompt),
            max_tokens=max_tokens,
            temperature=0.0,
            top_p=1.0,
            top_k=0,
            frequency_penalty=0.0,
            presence_penalty=0.0,
            repetition_penalty=1.0,
            seed=0,
            logprobs=False,
            stop_token_ids=(),
        )
        ids = ov.Tensor(np.array([prompt], dtype=np.int64))
        return self._pipeline.add_request(self._number, ids, generation_config(submit))


def _read(answer: BareAnswer, handle: genai.py_openvino_genai.GenerationHandle, now: float) -> None:
    while handle.can_read():
        for output in handle.read().values():
            answer.tokens += output.generated_ids
            answer.at_s += [now] * len(output.generated_ids)
