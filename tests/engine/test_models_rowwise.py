"""Matrices become rows with one scale each, from 16-bit constants and from 8-bit groups alike."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import openvino as ov
import pytest
from gguf.constants import GGMLQuantizationType
from gguf.quants import dequantize

from codex.engine.models.gguf_file import read_gguf
from codex.engine.models.ir import MODEL_FILES, make_ir
from codex.engine.models.progress import Silent
from codex.engine.models.rowwise import compress_rows

Matrix = np.ndarray[tuple[int, ...], np.dtype[np.float32]]


def ir_of(gguf: Path) -> Path:
    make_ir(gguf, "fp16", Silent())
    return gguf.with_name(MODEL_FILES[0])


def row_matrices(xml: Path) -> list[Matrix]:
    """Values of every i8 matrix times its scales, in the graph's order."""
    found = []
    for node in ov.Core().read_model(xml).get_ordered_ops():
        if node.get_type_name() == "Multiply":
            widened = node.input_value(0).get_node()
            values = widened.input_value(0).get_node() if widened.get_input_size() else widened
            if values.get_type_name() == "Constant" and values.get_element_type() == ov.Type.i8:
                scales = node.input_value(1).get_node().data
                assert scales.shape == (values.data.shape[0], 1)
                found.append(values.data.astype(np.float32) * scales.astype(np.float32))
    return found


@pytest.mark.parametrize("kind", [GGMLQuantizationType.F16, GGMLQuantizationType.Q8_0])
def test_every_large_matrix_is_within_half_a_step_of_its_source(
    tiny_gguf: Callable[..., Path], tmp_path: Path, kind: GGMLQuantizationType
) -> None:
    source = read_gguf(tiny_gguf(tmp_path / "model.gguf", kind=kind))
    wanted: list[Matrix] = [
        dequantize(source.rows(tensor), tensor.type)
        for tensor in source.tensors
        if len(tensor.shape) == 2 and np.prod(tensor.shape) >= 4096
    ]
    xml = ir_of(source.path)
    assert compress_rows(xml) == len(wanted) == 12
    made = row_matrices(xml)
    assert len(made) == len(wanted)
    for matrix in made:
        assert any(np.all(np.abs(matrix - other) <= half_step(other)) for other in same(wanted, matrix))


def half_step(matrix: Matrix) -> Matrix:
    """Half of the row's scale, and what rounding that scale to 16 bits adds."""
    return np.asarray(np.abs(matrix).max(axis=1, keepdims=True) * (0.5 / 127 + 0.001))


def same(matrices: list[Matrix], like: Matrix) -> list[Matrix]:
    return [matrix for matrix in matrices if matrix.shape == like.shape]


def test_rows_that_are_made_once_are_left_alone(tiny_gguf: Callable[..., Path], tmp_path: Path) -> None:
    xml = ir_of(tiny_gguf(tmp_path / "model.gguf", kind=GGMLQuantizationType.Q8_0))
    compress_rows(xml)
    before = xml.with_suffix(".bin").read_bytes()
    assert compress_rows(xml) == 0
    assert xml.with_suffix(".bin").read_bytes() == before
