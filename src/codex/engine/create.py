"""From settings to an engine that is not started yet. Knows every backend by name, none from inside."""

from __future__ import annotations

from codex.engine.mock import MockEngine
from codex.engine.models import PreparedModel, Progress, prepare
from codex.engine.openvino import OpenVinoEngine
from codex.engine.openvino.wire import Attention
from codex.engine.protocol import Engine
from codex.engine.release import release_id
from codex.engine.tokenizer import QwenTokenizer
from codex.settings import Settings
from codex.types import ModelInfo


def create_engine(settings: Settings, *, progress: Progress | None = None) -> Engine:
    """Prepares the model when that was not done before (`progress` sees how far it is), starts nothing.

    Raises:
        ModelError: there is no such model, or it cannot be prepared.
    """
    if settings.backend == "mock":
        return MockEngine(name=settings.model)
    prepared = prepare(
        settings.model, models_dir=settings.models_dir, quant=settings.quant_mode, progress=progress
    )
    return openvino_engine(prepared, settings)


def openvino_engine(prepared: PreparedModel, settings: Settings) -> OpenVinoEngine:
    """The embedded engine on a model that is ready on disk."""
    attention = attention_of(settings)
    return OpenVinoEngine(
        prepared.path,
        model_info(prepared, attention.label),
        QwenTokenizer.load(prepared.path / "tokenizer.json"),
        max_num_seqs=settings.max_num_seqs,
        step_budget_ms=settings.step_budget_ms,
        kv_cache_bytes=settings.kv_cache_bytes,
        threads=settings.engine_threads,
        attention=attention,
    )


def attention_of(settings: Settings) -> Attention:
    if settings.attention_type != "trishape":
        return Attention(settings.attention_type)
    return Attention("trishape", settings.attention_sink_tokens, settings.attention_recent_tokens)


def model_info(prepared: PreparedModel, attention: str = "dense") -> ModelInfo:
    """`attention` is part of the release: a sparse one answers differently."""
    quant = prepared.quant if attention == "dense" else f"{prepared.quant} {attention}"
    return ModelInfo(
        name=prepared.name,
        release=release_id(prepared.base_digest, quant=quant, template=prepared.template),
        context_length=prepared.context_length,
        template=prepared.template,
        quant=prepared.quant,
        backend="openvino",
    )
