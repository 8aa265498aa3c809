"""Conversion between GGUF formats: right formats, near values, tied heads, nothing lost."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from gguf.constants import GGMLQuantizationType
from gguf.quants import dequantize

from codex.engine.models.gguf_file import GgufFile, read_gguf
from codex.engine.models.progress import Silent
from codex.engine.models.requantise import head_is_tied, prepared_bytes, requantise
from codex.errors import UnsupportedModel
from codex.settings import QuantMode

T = GGMLQuantizationType
EDGE = {"token_embd.weight", "output.weight"}


def converted(source: GgufFile, folder: Path, quant: QuantMode) -> GgufFile:
    requantise(source, folder / "out.gguf", quant, Silent())
    return read_gguf(folder / "out.gguf")


def values(gguf: GgufFile) -> dict[str, np.ndarray]:
    return {tensor.name: dequantize(gguf.rows(tensor), tensor.type) for tensor in gguf.tensors}


@pytest.mark.parametrize(
    ("quant", "inner", "edge", "error"),
    [
        ("int8", T.Q8_0, T.Q8_0, 0.01),
        ("int4", T.Q4_0, T.Q8_0, 0.12),
        ("fp16", T.F16, T.F16, 0.001),
        ("disable", T.F16, T.F16, 0.001),
    ],
)
def test_matrices_get_the_format_and_keep_their_values(
    tiny_gguf: Callable[..., Path], tmp_path: Path, quant: QuantMode, inner: T, edge: T, error: float
) -> None:
    source = read_gguf(tiny_gguf(tmp_path / "tiny.gguf"))
    out = converted(source, tmp_path, quant)
    before, after = values(source), values(out)
    assert before.keys() == after.keys()
    for tensor in out.tensors:
        wanted = T.F32 if len(tensor.shape) == 1 else edge if tensor.name in EDGE else inner
        assert tensor.type is wanted
        off = np.linalg.norm(before[tensor.name] - after[tensor.name])
        assert off <= error * np.linalg.norm(before[tensor.name])


def test_metadata_is_kept(tiny_gguf: Callable[..., Path], tmp_path: Path) -> None:
    source = read_gguf(tiny_gguf(tmp_path / "tiny.gguf"))
    out = converted(source, tmp_path, "fp16")
    changed = {key for key in source.fields if source.fields[key] != out.fields.get(key)}
    assert changed == {"general.file_type"}


def test_sensitive_matrices_stay_eight_bit_under_int4(tiny_gguf: Callable[..., Path], tmp_path: Path) -> None:
    source = read_gguf(tiny_gguf(tmp_path / "tiny.gguf", kind=T.Q8_0))
    kinds = {tensor.type for tensor in converted(source, tmp_path, "int4").tensors if len(tensor.shape) == 2}
    assert kinds == {T.Q8_0}


def test_an_untied_head_is_told_from_a_tied_one(tiny_gguf: Callable[..., Path], tmp_path: Path) -> None:
    assert not head_is_tied(read_gguf(tiny_gguf(tmp_path / "untied.gguf")))
    assert head_is_tied(read_gguf(tiny_gguf(tmp_path / "tied.gguf", tied=True)))


def test_both_copies_of_a_tied_matrix_come_from_the_finer_one(
    tiny_gguf: Callable[..., Path], tmp_path: Path
) -> None:
    source = read_gguf(tiny_gguf(tmp_path / "tied.gguf", tied=True))
    out = values(converted(source, tmp_path, "fp16"))
    assert np.array_equal(out["token_embd.weight"], out["output.weight"])
    fine = values(source)["output.weight"]
    assert np.allclose(out["token_embd.weight"], fine, rtol=0.001, atol=1e-5)


def test_the_announced_size_is_that_of_the_tensors(tiny_gguf: Callable[..., Path], tmp_path: Path) -> None:
    source = read_gguf(tiny_gguf(tmp_path / "tiny.gguf"))
    out = converted(source, tmp_path, "int4")
    assert prepared_bytes(source, "int4") == sum(tensor.n_bytes for tensor in out.tensors)


def test_a_format_without_a_way_back_to_numbers_is_refused(
    tiny_gguf: Callable[..., Path], tmp_path: Path
) -> None:
    path = tiny_gguf(tmp_path / "tiny.gguf", kind=T.Q8_1)
    with pytest.raises(UnsupportedModel, match="Q8_1"):
        converted(read_gguf(path), tmp_path, "int8")
