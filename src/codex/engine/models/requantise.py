"""A GGUF that the engine can load, out of one that it cannot. Knows formats, no engine.

Tensors are converted one at a time, a few thousand rows at once, so memory stays far below the model's size.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from gguf import GGUFWriter
from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType, LlamaFileType
from gguf.quants import dequantize, quantize

from codex.engine.models.gguf_file import GgufFile, Tensor
from codex.engine.models.progress import Progress
from codex.errors import UnsupportedModel
from codex.settings import QuantMode

T = GGMLQuantizationType
Array = np.ndarray[Any, Any]

# Q4_1 is never written: the engine's reader takes its offsets and weights from the wrong bytes. Q6_K is read,
# but widened to 16 bits; Q5_0 and Q5_1 are refused.
_TARGETS: dict[QuantMode, tuple[GGMLQuantizationType, LlamaFileType]] = {
    "int8": (T.Q8_0, LlamaFileType.MOSTLY_Q8_0),  # made into rows with one scale later: see rowwise.py
    "int4": (T.Q4_0, LlamaFileType.MOSTLY_Q4_0),
    "fp16": (T.F16, LlamaFileType.MOSTLY_F16),
    "disable": (T.F16, LlamaFileType.MOSTLY_F16),
}
_SENSITIVE = {T.Q6_K, T.Q8_0}
_VALUES_AT_ONCE = 1 << 22
_REWRITTEN = {"general.architecture", "general.file_type", "general.alignment"}
_EMBEDDING, _HEAD = "token_embd.weight", "output.weight"


@dataclass(frozen=True, slots=True)
class _Step:
    """Tensor `name` is written in format `kind` from the data of `origin`."""

    name: str
    origin: Tensor
    kind: GGMLQuantizationType

    @property
    def row_bytes(self) -> int:
        block, block_bytes = GGML_QUANT_SIZES[self.kind]
        return self.origin.shape[-1] // block * block_bytes

    @property
    def n_bytes(self) -> int:
        return int(np.prod(self.origin.shape[:-1], dtype=np.int64)) * self.row_bytes


def requantise(source: GgufFile, target: Path, quant: QuantMode, progress: Progress) -> None:
    """Writes `source` to `target` with every matrix in the format of `quant`; vectors become F32.

    With `int4`, four bits go to the matrices that the source holds in five or fewer, or in full precision.
    Those that it holds in six to eight, the embedding and the head become 8-bit: they are the sensitive ones.

    Raises:
        UnsupportedModel: a tensor is in a format that cannot be dequantised.
    """
    kind, file_type = _TARGETS[quant]
    steps = _plan(source, kind)
    writer = GGUFWriter(target, source.architecture)
    try:
        _write_header(writer, source, file_type, steps)
        progress.stage("convert", sum(step.origin.n_bytes for step in steps))
        for step in steps:
            writer.write_tensor_data(_converted(source, step))
            progress.advance(step.origin.n_bytes)
    finally:
        writer.close()


def prepared_bytes(source: GgufFile, quant: QuantMode) -> int:
    """Size of what `requantise` would write, without the vocabulary."""
    return sum(step.n_bytes for step in _plan(source, _TARGETS[quant][0]))


def _plan(source: GgufFile, kind: GGMLQuantizationType) -> list[_Step]:
    """Both copies of a tied matrix come from the finer one; equal bytes are stored once by the engine."""
    tensors = {tensor.name: tensor for tensor in source.tensors}
    if head_is_tied(source):
        finer = max(tensors[_EMBEDDING], tensors[_HEAD], key=lambda tensor: tensor.n_bytes)
        tensors[_EMBEDDING] = tensors[_HEAD] = finer
    return [_Step(name, tensor, _kind_of(name, tensor, kind)) for name, tensor in tensors.items()]


def _kind_of(name: str, tensor: Tensor, kind: GGMLQuantizationType) -> GGMLQuantizationType:
    if len(tensor.shape) < 2:
        return T.F32
    if kind is T.Q4_0:
        kind = _four_bits_or_eight(name, tensor)
    return T.F16 if tensor.shape[-1] % GGML_QUANT_SIZES[kind][0] else kind


def _four_bits_or_eight(name: str, tensor: Tensor) -> GGMLQuantizationType:
    if name in (_EMBEDDING, _HEAD) or tensor.type in _SENSITIVE:
        return T.Q8_0
    return T.Q4_K if tensor.type is T.Q4_K else T.Q4_0


def head_is_tied(source: GgufFile) -> bool:
    """True when the head is the embedding over again, in another precision.

    Official Qwen2.5-Coder files of tied models hold the matrix twice: coarse for the embedding, 8-bit for
    the head. The first rows tell: copies differ by rounding only, separate matrices have nothing in common.
    """
    tensors = {tensor.name: tensor for tensor in source.tensors}
    embedding, head = tensors.get(_EMBEDDING), tensors.get(_HEAD)
    if embedding is None or head is None or embedding.shape != head.shape:
        return False
    a = _floats(source.rows(embedding)[:256], embedding)
    b = _floats(source.rows(head)[:256], head)
    return bool(np.linalg.norm(a - b) < 0.15 * np.linalg.norm(b))


def _converted(source: GgufFile, step: _Step) -> Array:
    rows = source.rows(step.origin)
    if step.kind is step.origin.type:
        return rows
    if rows.ndim == 1:
        return _floats(rows, step.origin)
    out = np.empty((*rows.shape[:-1], step.row_bytes), np.uint8)
    for part in _slices(len(rows), step.origin.shape[-1]):
        out[part] = _quantised(_floats(rows[part], step.origin), step.kind)
    return out


def _slices(n_rows: int, width: int) -> Iterator[slice]:
    at_once = max(1, _VALUES_AT_ONCE // width)
    return (slice(start, start + at_once) for start in range(0, n_rows, at_once))


def _floats(rows: Array, tensor: Tensor) -> Array:
    try:
        return dequantize(rows, tensor.type)
    except (NotImplementedError, ValueError) as error:
        raise UnsupportedModel(f"tensor {tensor.name} is {tensor.type.name}: {error}") from error


def _quantised(values: Array, kind: GGMLQuantizationType) -> Array:
    return quantize(values, kind).view(np.uint8).reshape(*values.shape[:-1], -1)


def _write_header(writer: GGUFWriter, source: GgufFile, file_type: LlamaFileType, steps: list[_Step]) -> None:
    for key, field in source.fields.items():
        if key not in _REWRITTEN:
            writer.add_key_value(key, field.value, field.type, field.element)
    writer.add_file_type(file_type)
    for step in steps:
        writer.add_tensor_info(step.name, step.origin.shape, np.dtype(np.float32), step.n_bytes, step.kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
