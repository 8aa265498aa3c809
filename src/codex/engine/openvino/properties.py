"""What OpenVINO is told when the model is loaded: precision, threads, memory. The one place to tune it.

Knows no request. Used in the worker process, and by the bare loop that benchmarks compare with.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import openvino as ov
import openvino_genai as genai

from codex.engine.openvino.attention import apply_attention
from codex.engine.openvino.wire import DENSE, Attention
from codex.errors import UnsupportedModel

DEVICE = "CPU"
BLOCK_TOKENS = 32
"""Tokens in a block of OpenVINO's KV cache on CPUs (its kv_cache_manager)."""
_MAX_STEP_TOKENS = 4096
"""Upper bound of what one step may hold, whatever the plan says; it also bounds the memory of a step."""


@dataclass(frozen=True, slots=True)
class KvLayout:
    """How the KV cache of a model is stored. `token_bytes` counts keys and values of all layers."""

    precision: ov.Type
    token_bytes: int

    @property
    def block_bytes(self) -> int:
        return self.token_bytes * BLOCK_TOKENS


def kv_layout(model_path: Path) -> KvLayout:
    """Reads the cache's shape from the model's state variables: one for keys, one for values, a layer each.

    Raises:
        UnsupportedModel: the model has no such state.
    """
    core = ov.Core()
    precision = _exact_precision(core)
    model = core.read_model(model_path / "openvino_model.xml")
    elements = 0
    for variable in model.get_variables():
        shape = variable.info.data_shape
        if shape.rank.is_static and len(shape) == 4 and shape[1].is_static and shape[3].is_static:
            elements += shape[1].get_length() * shape[3].get_length()
    if not elements:
        raise UnsupportedModel(f"{model_path} keeps no KV cache of its own: export it as a stateful model")
    return KvLayout(precision, elements * precision.size)


def _exact_precision(core: ov.Core) -> ov.Type:
    """16 bits as the CPU computes with: a coarser cache breaks code structure, a finer one brings nothing."""
    capabilities = core.get_property(DEVICE, "OPTIMIZATION_CAPABILITIES")
    return ov.Type.bf16 if "BF16" in capabilities else ov.Type.f16


def scheduler_config(
    *, kv_blocks: int, max_num_seqs: int, attention: Attention = DENSE
) -> genai.SchedulerConfig:
    config = genai.SchedulerConfig()
    config.max_num_batched_tokens = _MAX_STEP_TOKENS
    config.max_num_seqs = max_num_seqs
    config.num_kv_blocks = kv_blocks
    config.dynamic_split_fuse = True
    config.enable_prefix_caching = True
    apply_attention(attention, config)
    return config


def plugin_properties(layout: KvLayout, *, threads: int) -> dict[str, object]:
    """`threads` 0 leaves the choice to OpenVINO: every core that this process may use."""
    properties: dict[str, object] = {"KV_CACHE_PRECISION": layout.precision}
    if threads:
        properties["INFERENCE_NUM_THREADS"] = threads
        properties["sampler_num_threads"] = threads
    return properties


def load_pipeline(
    model_path: Path,
    *,
    layout: KvLayout,
    kv_blocks: int,
    max_num_seqs: int,
    threads: int,
    attention: Attention = DENSE,
) -> genai.ContinuousBatchingPipeline:
    """Compiles the model in the folder `model_path`; its tokenizer, if any, is not needed."""
    return genai.ContinuousBatchingPipeline(
        str(model_path),
        scheduler_config(kv_blocks=kv_blocks, max_num_seqs=max_num_seqs, attention=attention),
        DEVICE,
        plugin_properties(layout, threads=threads),
    )
