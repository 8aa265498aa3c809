"""From a name, a file or a folder to a prepared model, with a tiny real GGUF and the real engine."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from gguf.constants import GGMLQuantizationType

from codex.engine.models import (
    CATALOGUE,
    CatalogueEntry,
    PreparedModel,
    Progress,
    list_prepared,
    prepare,
    remove,
    verify,
    weights_path,
)
from codex.engine.models.manifest import read_manifest, write_manifest
from codex.engine.models.progress import Silent
from codex.errors import DiskFull, ModelCorrupt, UnknownModel, UnsupportedModel
from codex.settings import QuantMode

MakeGguf = Callable[..., Path]


class Stages(Silent):
    def __init__(self) -> None:
        self.names: list[str] = []

    def stage(self, name: str, total: int | None) -> None:
        self.names.append(name)


class Copied:
    """A source that copies a local file."""

    name = "copy"

    def __init__(self, path: Path) -> None:
        self._path = path

    def fetch(self, entry: CatalogueEntry, folder: Path, progress: Progress) -> Path:
        return Path(shutil.copy(self._path, folder))


@pytest.fixture(scope="module")
def gguf(tmp_path_factory: pytest.TempPathFactory, tiny_gguf: MakeGguf) -> Path:
    return tiny_gguf(tmp_path_factory.mktemp("gguf") / "tiny.gguf")


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory, gguf: Path) -> PreparedModel:
    """Prepared once for this file; a test that changes it works on a copy."""
    return prepare(str(gguf), models_dir=tmp_path_factory.mktemp("models"), quant="int8")


@pytest.fixture
def ready(pristine: PreparedModel, tmp_path: Path) -> PreparedModel:
    models_dir = tmp_path / "models"
    shutil.copytree(pristine.path.parent, models_dir)
    return replace(pristine, path=models_dir / pristine.path.name)


@pytest.fixture
def entry(gguf: Path, monkeypatch: pytest.MonkeyPatch) -> CatalogueEntry:
    data = gguf.read_bytes()
    entry = CatalogueEntry("tiny", "", "Apache-2.0", len(data), hashlib.sha256(data).hexdigest())
    monkeypatch.setitem(CATALOGUE, "tiny", entry)
    return entry


def leftovers(models_dir: Path) -> list[str]:
    return [path.name for path in models_dir.iterdir() if "making" in path.name]


def test_a_gguf_file_becomes_a_folder_that_says_what_it_is(pristine: PreparedModel, gguf: Path) -> None:
    digest = hashlib.sha256(gguf.read_bytes()).hexdigest()
    assert pristine == PreparedModel(pristine.path, "tiny", digest, 1024, "qwen2.5-coder", "int8")
    assert {path.name for path in pristine.path.iterdir()} == {
        *("openvino_model.xml", "openvino_model.bin", "tokenizer.json"),
        *("generation_config.json", "manifest.json"),
    }
    manifest = read_manifest(pristine.path)
    assert manifest.special_tokens["<|fim_prefix|>"] == 269
    assert json.loads((pristine.path / "generation_config.json").read_text())["eos_token_id"] == 274


@pytest.mark.parametrize("quant", ["int4", "disable"])
def test_each_precision_has_its_own_folder(ready: PreparedModel, gguf: Path, quant: QuantMode) -> None:
    other = prepare(str(gguf), models_dir=ready.path.parent, quant=quant)
    assert other.quant == quant
    assert [each.model.quant for each in list_prepared(ready.path.parent)] == sorted(["int8", quant])


def test_what_is_ready_is_checked_and_not_made_again(ready: PreparedModel, gguf: Path) -> None:
    stages = Stages()
    assert prepare(str(gguf), models_dir=ready.path.parent, quant="int8", progress=stages) == ready
    assert set(stages.names) == {"verify"}


def test_a_catalogue_model_is_fetched_prepared_and_then_needs_no_source(
    entry: CatalogueEntry, gguf: Path, tmp_path: Path
) -> None:
    first = prepare("tiny", models_dir=tmp_path, quant="int8", sources=[Copied(gguf)])
    assert first.path == tmp_path / "tiny-int8"
    assert weights_path(entry, tmp_path).read_bytes() == gguf.read_bytes()
    assert prepare("tiny", models_dir=tmp_path, quant="int8", sources=[]) == first
    assert verify("tiny", models_dir=tmp_path) == [first]


@pytest.mark.usefixtures("entry")
def test_a_file_that_is_a_catalogue_model_is_known_by_its_digest(gguf: Path, tmp_path: Path) -> None:
    prepared = prepare(str(gguf), models_dir=tmp_path, quant="int8")
    assert (prepared.name, prepared.path) == ("tiny", tmp_path / "tiny-int8")
    assert prepare("tiny", models_dir=tmp_path, quant="int8", sources=[]) == prepared


def test_a_folder_of_an_older_format_is_made_anew(ready: PreparedModel, gguf: Path) -> None:
    write_manifest(ready.path, replace(read_manifest(ready.path), format=0))
    stages = Stages()
    assert prepare(str(gguf), models_dir=ready.path.parent, quant="int8", progress=stages) == ready
    assert "build" in stages.names


@pytest.mark.parametrize("damage", ["changed", "cut", "missing"])
def test_damage_is_refused_by_name_with_the_expected_digest(
    ready: PreparedModel, gguf: Path, damage: str
) -> None:
    weights = ready.path / "openvino_model.bin"
    expected = read_manifest(ready.path).files[weights.name].sha256
    data = weights.read_bytes()
    if damage == "missing":
        weights.unlink()
    else:
        weights.write_bytes(data[:-1] + (b"" if damage == "cut" else bytes([data[-1] ^ 1])))
    for check in (
        lambda: prepare(str(gguf), models_dir=ready.path.parent, quant="int8"),
        lambda: verify("tiny", models_dir=ready.path.parent),
    ):
        with pytest.raises(ModelCorrupt, match=r"openvino_model\.bin") as caught:
            check()
        if damage == "changed":
            assert expected in str(caught.value)
            assert hashlib.sha256(weights.read_bytes()).hexdigest() in str(caught.value)


def test_damage_of_size_is_listed_without_reading(ready: PreparedModel) -> None:
    with (ready.path / "tokenizer.json").open("ab") as file:
        file.write(b" ")
    (listed,) = list_prepared(ready.path.parent)
    assert "tokenizer.json" in listed.problem


def test_removing_frees_and_forgets(ready: PreparedModel) -> None:
    models_dir = ready.path.parent
    size = sum(path.stat().st_size for path in ready.path.iterdir())
    assert remove("tiny", models_dir=models_dir) == size
    assert list_prepared(models_dir) == []
    with pytest.raises(UnknownModel):
        remove("tiny", models_dir=models_dir)


def test_removing_a_catalogue_model_takes_its_weights_along_unless_one_precision_is_named(
    entry: CatalogueEntry, gguf: Path, tmp_path: Path
) -> None:
    prepare("tiny", models_dir=tmp_path, quant="int8", sources=[Copied(gguf)])
    remove("tiny", models_dir=tmp_path, quant="int8")
    assert weights_path(entry, tmp_path).is_file()
    assert remove("tiny", models_dir=tmp_path) == entry.bytes
    assert not weights_path(entry, tmp_path).exists()


def test_neither_name_nor_path(tmp_path: Path) -> None:
    with pytest.raises(UnknownModel, match=r"qwen2\.5-coder-0\.5b"):
        prepare("no-such-model", models_dir=tmp_path, quant="int8")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"architecture": "gemma3"}, "'gemma3'.*qwen2"),
        ({"vocabulary": "llama"}, "vocabulary kind 'llama'"),
        ({"pre": "deepseek-coder"}, "'deepseek-coder'.*qwen2"),
        ({"kind": GGMLQuantizationType.Q8_1}, "Q8_1"),
    ],
)
def test_what_cannot_be_served_is_refused_with_what_can(
    tiny_gguf: MakeGguf, tmp_path: Path, changes: dict[str, str], words: str
) -> None:
    path = tiny_gguf(tmp_path / "other.gguf", **changes)
    with pytest.raises(UnsupportedModel, match=words):
        prepare(str(path), models_dir=tmp_path / "models", quant="int8")
    assert not list_prepared(tmp_path / "models")


@pytest.mark.parametrize(
    ("special", "template"),
    [(("<|im_start|>", "<|im_end|>"), "chatml"), (("<|endoftext|>",), "text")],
)
def test_a_model_without_fill_in_the_middle_says_so(
    tiny_gguf: MakeGguf, tmp_path: Path, special: tuple[str, ...], template: str
) -> None:
    path = tiny_gguf(tmp_path / "plain.gguf", special=special)
    assert prepare(str(path), models_dir=tmp_path / "models", quant="int8").template == template


def test_a_full_disk_is_reported_before_anything_is_written(
    gguf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=1_000_000))
    with pytest.raises(DiskFull, match=r"needs 0\.07 GB .* 0\.00 GB"):
        prepare(str(gguf), models_dir=tmp_path, quant="int8")
    assert leftovers(tmp_path) == []


_PREPARE = """
import os, signal, sys
from pathlib import Path
from codex.engine.models import prepare

class Watch:
    def stage(self, name, total):
        print(name, flush=True)
        if name == sys.argv[3]:
            os.kill(os.getpid(), signal.SIGKILL)
    def advance(self, amount):
        pass

prepare(sys.argv[1], models_dir=Path(sys.argv[2]), quant="int8", progress=Watch())
"""


def start(gguf: Path, models_dir: Path, kill_at: str = "") -> subprocess.Popen[str]:
    command = [sys.executable, "-c", _PREPARE, str(gguf), str(models_dir), kill_at]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_two_processes_at_once_make_it_once(gguf: Path, tmp_path: Path) -> None:
    with start(gguf, tmp_path) as one, start(gguf, tmp_path) as two:
        stages = [one.communicate()[0].split("\n"), two.communicate()[0].split("\n")]
    assert (one.returncode, two.returncode) == (0, 0)
    assert sum("build" in names for names in stages) == 1
    assert len(list_prepared(tmp_path)) == 1


@pytest.mark.parametrize("stage", ["convert", "build"])
def test_after_a_kill_the_next_one_cleans_up_and_succeeds(gguf: Path, tmp_path: Path, stage: str) -> None:
    with start(gguf, tmp_path, kill_at=stage) as killed:
        killed.communicate()
    assert killed.returncode == -signal.SIGKILL
    assert leftovers(tmp_path)
    assert not list_prepared(tmp_path)
    prepare(str(gguf), models_dir=tmp_path, quant="int8")
    assert leftovers(tmp_path) == []
    assert len(list_prepared(tmp_path)) == 1


@pytest.fixture
def exported(pristine: PreparedModel, tmp_path: Path) -> Path:
    """An IR folder as Optimum writes one."""
    folder = tmp_path / "exported"
    shutil.copytree(pristine.path, folder)
    (folder / "manifest.json").unlink()
    (folder / "config.json").write_text(json.dumps({"model_type": "qwen2", "max_position_embeddings": 512}))
    return folder


def test_an_exported_ir_folder_is_served_where_it_lies(exported: Path, tmp_path: Path) -> None:
    before = sorted(os.listdir(exported))
    prepared = prepare(str(exported), models_dir=tmp_path / "models", quant="int8")
    assert prepared.path == exported
    assert (prepared.name, prepared.context_length, prepared.template) == ("exported", 512, "qwen2.5-coder")
    assert sorted(os.listdir(exported)) == before


def test_the_digest_of_an_ir_folder_changes_with_its_weights(exported: Path, tmp_path: Path) -> None:
    first = prepare(str(exported), models_dir=tmp_path, quant="int8")
    with (exported / "openvino_model.bin").open("r+b") as file:
        byte = file.read(1)
        file.seek(0)
        file.write(bytes([byte[0] ^ 1]))
    assert prepare(str(exported), models_dir=tmp_path, quant="int8").base_digest != first.base_digest


@pytest.mark.parametrize(
    "name", ["openvino_model.xml", "openvino_model.bin", "tokenizer.json", "config.json"]
)
def test_an_ir_folder_without_a_file_that_serving_needs_is_refused_by_its_name(
    exported: Path, tmp_path: Path, name: str
) -> None:
    (exported / name).unlink()
    with pytest.raises(UnsupportedModel, match=name):
        prepare(str(exported), models_dir=tmp_path, quant="int8")


def test_a_prepared_folder_can_be_served_by_path(ready: PreparedModel, tmp_path: Path) -> None:
    assert prepare(str(ready.path), models_dir=tmp_path / "elsewhere", quant="int8") == ready


@pytest.mark.model
def test_the_real_model_is_prepared_from_the_pinned_weights(prepared_model: PreparedModel) -> None:
    entry = CATALOGUE["qwen2.5-coder-0.5b"]
    assert prepared_model.base_digest == entry.sha256
    assert (prepared_model.context_length, prepared_model.template) == (32_768, "qwen2.5-coder")
    assert verify(entry.name, models_dir=prepared_model.path.parent, quant="int8") == [prepared_model]
