"""Sparse attention while prompts are read, as OpenVINO does it. Knows no request and no process.

What OpenVINO's scheduler really does (openvino.genai 2026.4, continuous_batching/sparse_attention.cpp): a
step's piece of a prompt skips cached blocks between the first and the latest ones, unless fewer tokens of
that prompt remain behind it than are to be dense. Our portions are requests of their own, with nothing
behind them, so each would be dense: with sparse attention the library cuts prompts into steps by itself.
XATTENTION leaves the very last piece sparse whatever it is told, and with it the question.
"""

from __future__ import annotations

import openvino_genai as genai

from codex.engine.openvino.wire import Attention

STEP_TOKENS = 128
"""Prompt tokens of one engine step, and of the dense end of a prompt. A longer step keeps others waiting."""
_WHOLE_PROMPTS_MS = 1e9
"""A step budget in which every prompt is one portion: the library cuts it."""


def apply_attention(attention: Attention, config: genai.SchedulerConfig) -> None:
    """Makes the pipeline of `config` read prompts so."""
    if attention.kind == "dense":
        return
    config.max_num_batched_tokens = max(STEP_TOKENS, config.max_num_seqs)
    config.use_sparse_attention = True
    config.sparse_attention_config = genai.SparseAttentionConfig(
        mode=getattr(genai.SparseAttentionMode, attention.kind.upper()),
        num_last_dense_tokens_in_prefill=STEP_TOKENS if attention.kind == "xattention" else 1,
        num_retained_start_tokens_in_cache=attention.sink,
        num_retained_recent_tokens_in_cache=attention.recent,
    )


def step_budget_ms(attention: Attention, wanted_ms: float) -> float:
    """The budget that prompts are cut by: ours where attention is dense."""
    return wanted_ms if attention.kind == "dense" else _WHOLE_PROMPTS_MS
