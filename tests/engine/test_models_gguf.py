"""The header reader: what it finds, and that damage of any kind is refused by name."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from gguf import GGUFReader
from gguf.constants import GGMLQuantizationType

from codex.engine.models.gguf_file import read_gguf
from codex.errors import ModelCorrupt


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory, tiny_gguf: Callable[..., Path]) -> Path:
    return tiny_gguf(tmp_path_factory.mktemp("gguf") / "tiny.gguf")


def test_it_reads_what_the_reference_reader_reads(tiny: Path) -> None:
    ours, reference = read_gguf(tiny), GGUFReader(tiny)
    theirs = {key: field.contents() for key, field in reference.fields.items() if not key.startswith("GGUF.")}
    assert {key: field.value for key, field in ours.fields.items()} == theirs
    assert [tensor.name for tensor in ours.tensors] == [tensor.name for tensor in reference.tensors]
    for mine, its in zip(ours.tensors, reference.tensors, strict=True):
        assert (mine.type, mine.offset, mine.n_bytes) == (its.tensor_type, its.data_offset, its.n_bytes)
        assert mine.shape == tuple(int(size) for size in reversed(its.shape))
        assert np.array_equal(ours.rows(mine).ravel(), its.data.view(np.uint8).ravel())


def test_facts_have_names(tiny: Path) -> None:
    gguf = read_gguf(tiny)
    assert gguf.architecture == "qwen2"
    assert gguf.of_architecture("context_length") == 1024
    assert gguf.get("no.such.key", 7) == 7
    assert {tensor.type for tensor in gguf.tensors} == {GGMLQuantizationType.F32, GGMLQuantizationType.Q5_0}


@pytest.mark.parametrize("share", [0.0, 0.00001, 0.01, 0.2, 0.5, 0.999])
def test_a_file_cut_anywhere_is_refused(tiny: Path, tmp_path: Path, share: float) -> None:
    cut = tmp_path / "cut.gguf"
    data = tiny.read_bytes()
    cut.write_bytes(data[: int(len(data) * share)])
    with pytest.raises(ModelCorrupt, match=r"cut\.gguf"):
        read_gguf(cut)


@pytest.mark.parametrize(
    ("offset", "value"),
    [
        (0, b"GGML"),
        (4, struct.pack("<I", 1)),
        (8, struct.pack("<Q", 1 << 60)),
        (16, struct.pack("<Q", 1 << 60)),
        (24, struct.pack("<Q", 1 << 62)),
    ],
    ids=["magic", "version", "tensor count", "field count", "string length"],
)
def test_an_absurd_header_is_refused_before_memory_is_taken(
    tiny: Path, tmp_path: Path, offset: int, value: bytes
) -> None:
    data = bytearray(tiny.read_bytes())
    data[offset : offset + len(value)] = value
    bad = tmp_path / "bad.gguf"
    bad.write_bytes(data)
    with pytest.raises(ModelCorrupt, match=r"bad\.gguf"):
        read_gguf(bad)


def test_a_missing_file_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(ModelCorrupt, match=r"absent\.gguf"):
        read_gguf(tmp_path / "absent.gguf")
