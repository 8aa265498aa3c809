"""The one tree of settings: environment first, then these defaults. Knows no room."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from platformdirs import user_cache_path
from pydantic import AliasChoices, Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from codex.types import AttentionType

QuantMode = Literal["disable", "fp16", "int8", "int4"]
Preset = Literal["single", "throughput"]


class Settings(BaseSettings):
    """Each field is read from `CODEX_<NAME>`; a command's option of the same name wins over it."""

    model_config = SettingsConfigDict(env_prefix="CODEX_", extra="ignore", populate_by_name=True)

    model: str = Field("qwen2.5-coder-0.5b", description="Catalogue name, GGUF file or OpenVINO IR folder.")
    backend: Literal["openvino", "mock"] = Field("openvino", description="Which engine answers.")
    quant_mode: QuantMode = Field("int8", description="Precision of the weights; disable means 16-bit.")
    models_dir: Path = Field(
        default_factory=lambda: user_cache_path("codex") / "models", description="Prepared models live here."
    )
    host: str = Field("127.0.0.1", description="Address to listen on.")
    port: int = Field(8080, ge=0, le=65535, description="Port to listen on; 0 picks a free one.")
    preset: Preset = Field("single", description="Decoding defaults for fields a request leaves out.")
    max_concurrent: int = Field(
        32,
        ge=1,
        validation_alias=AliasChoices("CODEX_MAX_CONCURRENT", "MAX_CONCURRENT", "max_concurrent"),
        description="Requests that generate at the same time.",
    )
    queue_size: int = Field(64, ge=0, description="Requests that may wait for a place before 429.")
    request_timeout_s: float = Field(30.0, gt=0, description="Time for one request, waiting included.")
    max_num_seqs: int = Field(64, ge=1, description="Sequences in one engine step.")
    step_budget_ms: float = Field(
        250.0, gt=0, description="Longest engine step while anyone else waits or decodes."
    )
    kv_cache_bytes: int = Field(
        2 << 30, ge=64 << 20, description="Memory for the KV cache; prefixes stay in it between requests."
    )
    attention_type: AttentionType = Field(
        "dense",
        description="Attention while prompts are read: dense is exact; trishape sees the first and the "
        "latest tokens only; xattention loses answers and is there to be measured.",
    )
    attention_sink_tokens: int = Field(
        128, ge=0, multiple_of=32, description="First tokens of a prompt that trishape always sees."
    )
    attention_recent_tokens: int = Field(
        8192,
        ge=32,
        multiple_of=32,
        description="Latest tokens that trishape sees; up to here it is dense.",
    )
    engine_threads: int = Field(0, ge=0, description="Threads of the engine; 0 uses every core.")
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info", description="Lowest level logged."
    )
