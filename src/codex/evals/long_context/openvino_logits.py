"""A `LogitModel` on a prepared model: OpenVINO's stateful graph with every logit, and an attention mask.

The serving pipeline gives the chosen token's log-probability only, so exact KL needs the graph itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import openvino as ov

from codex.evals.long_context.fidelity import Flags, Floats


class OpenVinoLogits:
    """Compiles `path`/openvino_model.xml. What is not visible stays in the state, masked."""

    def __init__(self, path: Path, *, threads: int = 0, kv_precision: str = "f16") -> None:
        properties: dict[str, object] = {"KV_CACHE_PRECISION": kv_precision}
        if threads:
            properties["INFERENCE_NUM_THREADS"] = threads
        compiled = ov.Core().compile_model(path / "openvino_model.xml", "CPU", properties)
        self._request = compiled.create_infer_request()

    def reset(self) -> None:
        self._request.reset_state()

    def read(self, tokens: Sequence[int], start: int, visible: Flags) -> Floats:
        self._request.infer(
            {
                "input_ids": np.asarray([tokens], dtype=np.int64),
                "attention_mask": visible[None].astype(np.int64),
                "position_ids": np.arange(start, start + len(tokens), dtype=np.int64)[None],
                "beam_idx": np.zeros(1, dtype=np.int32),
            }
        )
        logits: Floats = self._request.get_tensor("logits").data[0].astype(np.float32)
        return logits
