"""Sparse attention: what the library is told, and that it does what the evaluation's mask says it does."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import openvino_genai as genai
import pytest
from pydantic import ValidationError

from codex.engine.create import attention_of, model_info, openvino_engine
from codex.engine.models import PreparedModel
from codex.engine.openvino.attention import STEP_TOKENS, apply_attention, step_budget_ms
from codex.engine.openvino.properties import scheduler_config
from codex.engine.openvino.wire import DENSE, Attention, Config, decode_to_worker, encode
from codex.evals.long_context import parse_attention
from codex.evals.long_context.documents import ENGINE_PORTION
from codex.evals.long_context.fidelity import Reader, Span
from codex.evals.long_context.openvino_logits import OpenVinoLogits
from codex.settings import Settings
from codex.types import EngineRequest, Sampling

TEXT = Path(__file__).read_text()
PREPARED = PreparedModel(Path("m"), "m", "ab" * 32, 32_768, "qwen2.5-coder", "int8")


def test_dense_attention_leaves_the_scheduler_as_it_is() -> None:
    config = scheduler_config(kv_blocks=8, max_num_seqs=4)
    assert config.use_sparse_attention is False
    assert config.max_num_batched_tokens > STEP_TOKENS
    assert step_budget_ms(DENSE, 250.0) == 250.0


def test_trishape_is_cut_into_steps_by_the_library_and_ends_dense() -> None:
    config = scheduler_config(kv_blocks=8, max_num_seqs=4, attention=Attention("trishape", 32, 64))
    sparse = config.sparse_attention_config
    assert config.use_sparse_attention
    assert config.max_num_batched_tokens == STEP_TOKENS == ENGINE_PORTION
    assert sparse.mode == genai.SparseAttentionMode.TRISHAPE
    assert (sparse.num_retained_start_tokens_in_cache, sparse.num_retained_recent_tokens_in_cache) == (32, 64)
    assert sparse.num_last_dense_tokens_in_prefill == 1
    assert step_budget_ms(Attention("trishape", 32, 64), 250.0) > 1e6


def test_a_step_has_room_for_every_sequence() -> None:
    config = genai.SchedulerConfig()
    config.max_num_seqs = 3 * STEP_TOKENS
    apply_attention(Attention("xattention"), config)
    assert config.max_num_batched_tokens == 3 * STEP_TOKENS
    assert config.sparse_attention_config.mode == genai.SparseAttentionMode.XATTENTION


def test_attention_reaches_the_worker() -> None:
    config = Config("m", 4, 250.0, 1 << 30, 0, Attention("trishape", 32, 64))
    assert decode_to_worker(encode(config)[4:]) == config


def test_settings_choose_the_attention_and_dense_is_the_default() -> None:
    assert attention_of(Settings()) == DENSE
    chosen = Settings(attention_type="trishape", attention_sink_tokens=64, attention_recent_tokens=4096)
    assert attention_of(chosen) == Attention("trishape", 64, 4096)
    assert parse_attention("trishape:64:4096").applied(Settings()) == chosen
    with pytest.raises(ValidationError, match="multiple of 32"):
        Settings(attention_recent_tokens=100)


def test_another_attention_is_another_release() -> None:
    labels = (
        DENSE.label,
        Attention("trishape", 32, 64).label,
        Attention("trishape", 32, 96).label,
        "xattention",
    )
    assert len({model_info(PREPARED, label).release for label in labels}) == 4
    assert model_info(PREPARED).release == model_info(PREPARED, "dense").release


@pytest.mark.anyio
@pytest.mark.model
async def test_the_engine_computes_what_the_mask_of_the_evaluation_computes(
    prepared_model: PreparedModel,
) -> None:
    """Three steps of 128 tokens: the second skips blocks, the third is dense again."""
    settings = Settings(attention_type="trishape", attention_sink_tokens=32, attention_recent_tokens=32)
    engine = openvino_engine(prepared_model, settings.model_copy(update={"kv_cache_bytes": 64 << 20}))
    tokens = engine.tokenizer.encode(TEXT)[: 3 * STEP_TOKENS + 1]
    prompt = tuple(tokens[: 3 * STEP_TOKENS])
    await engine.start()
    request = EngineRequest("one", prompt, Sampling(max_tokens=1, temperature=0.0, top_p=1.0, logprobs=True))
    chunks = [chunk async for chunk in engine.generate(request)]
    await engine.stop()
    (token,) = [token for chunk in chunks for token in chunk.tokens]
    (logprob,) = [value for chunk in chunks for value in chunk.logprobs]

    model = OpenVinoLogits(prepared_model.path)
    here = [Span(3 * STEP_TOKENS, 1)]
    (sparse,) = Reader(model, parse_attention("trishape:32:32"), STEP_TOKENS).log_probs(tokens, here)
    (dense,) = Reader(model, parse_attention("dense"), STEP_TOKENS).log_probs(tokens, here)
    assert token == sparse[0].argmax()
    assert logprob == pytest.approx(float(sparse[0].max()), abs=0.01)
    assert np.abs(sparse - dense).max() > 0.05
