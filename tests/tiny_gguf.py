"""A real GGUF of a few hundred kilobytes: random weights, a byte vocabulary, all that preparation reads."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gguf import GGUFWriter
from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType, TokenType
from gguf.quants import quantize

from codex.engine.mock import SPECIAL_TOKENS
from codex.engine.tokenizer import byte_alphabet

SPECIAL = tuple(SPECIAL_TOKENS)
MERGES = ("Ġ Ġ", "i n", "d e", "de f", "Ġ in", "r e", "t u", "r n", "re tu", "retu rn")
WIDTH, HIDDEN, HEADS, KV_HEADS, LAYERS = 64, 128, 4, 2, 2

TinyGguf = Callable[..., Path]
"""Called as `write_tiny_gguf` below; returns the path that it was given."""


@pytest.fixture(scope="session")
def tiny_gguf() -> TinyGguf:
    return write_tiny_gguf


def write_tiny_gguf(
    path: Path,
    *,
    architecture: str = "qwen2",
    kind: GGMLQuantizationType = GGMLQuantizationType.Q5_0,
    special: tuple[str, ...] = SPECIAL,
    seed: int = 0,
    tied: bool = False,
    pre: str = "qwen2",
    vocabulary: str = "gpt2",
) -> Path:
    """Matrices are of format `kind`; with `tied` the head is the embedding again, in 8 bits."""
    writer = GGUFWriter(path, architecture)
    vocab = [*byte_alphabet(), *(merge.replace(" ", "") for merge in MERGES), *special]
    _add_shape(writer)
    writer.add_tokenizer_model(vocabulary)
    writer.add_tokenizer_pre(pre)
    _add_vocabulary(writer, vocab, special)
    rng = np.random.default_rng(seed)
    tensors = {
        name: rng.standard_normal(shape).astype(np.float32) * 0.05
        for name, shape in _shapes(len(vocab)).items()
    }
    if tied:
        tensors["output.weight"] = tensors["token_embd.weight"]
    for name, values in tensors.items():
        _add_tensor(
            writer, name, values, GGMLQuantizationType.Q8_0 if tied and name == "output.weight" else kind
        )
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _add_tensor(writer: Any, name: str, values: np.ndarray, kind: GGMLQuantizationType) -> None:
    if values.ndim == 1:
        writer.add_tensor(name, values)
    elif kind is GGMLQuantizationType.Q8_1:  # the library cannot make it; engines keep it for themselves
        block, block_bytes = GGML_QUANT_SIZES[kind]
        raw = np.zeros((len(values), values.shape[1] // block * block_bytes), np.uint8)
        writer.add_tensor(name, raw, raw_dtype=kind)
    else:
        writer.add_tensor(name, quantize(values, kind), raw_dtype=kind)


def _add_shape(writer: Any) -> None:
    writer.add_block_count(LAYERS)
    writer.add_context_length(1024)
    writer.add_embedding_length(WIDTH)
    writer.add_feed_forward_length(HIDDEN)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_rope_freq_base(10_000.0)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_file_type(8)


def _add_vocabulary(writer: Any, vocab: list[str], special: tuple[str, ...]) -> None:
    kinds = [TokenType.CONTROL if token in special else TokenType.NORMAL for token in vocab]
    writer.add_token_list(vocab)
    writer.add_token_types([int(kind) for kind in kinds])
    writer.add_token_merges(list(MERGES))
    writer.add_eos_token_id(len(vocab) - 1)
    writer.add_bos_token_id(len(vocab) - 1)
    writer.add_pad_token_id(len(vocab) - 1)


def _shapes(n_vocab: int) -> dict[str, tuple[int, ...]]:
    kv = WIDTH // HEADS * KV_HEADS
    layer: dict[str, tuple[int, ...]] = {
        "attn_norm.weight": (WIDTH,),
        "ffn_norm.weight": (WIDTH,),
        "attn_q.weight": (WIDTH, WIDTH),
        "attn_q.bias": (WIDTH,),
        "attn_k.weight": (kv, WIDTH),
        "attn_k.bias": (kv,),
        "attn_v.weight": (kv, WIDTH),
        "attn_v.bias": (kv,),
        "attn_output.weight": (WIDTH, WIDTH),
        "ffn_gate.weight": (HIDDEN, WIDTH),
        "ffn_up.weight": (HIDDEN, WIDTH),
        "ffn_down.weight": (WIDTH, HIDDEN),
    }
    whole: dict[str, tuple[int, ...]] = {
        "token_embd.weight": (n_vocab, WIDTH),
        "output_norm.weight": (WIDTH,),
        "output.weight": (n_vocab, WIDTH),
    }
    return whole | {f"blk.{i}.{name}": shape for i in range(LAYERS) for name, shape in layer.items()}
