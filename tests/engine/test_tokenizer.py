"""A user's text becomes ids and comes back unaltered, whole, and never as special tokens."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gguf import GGUFWriter
from hypothesis import given
from hypothesis import strategies as st

from codex.engine.mock import SPECIAL_TOKENS
from codex.engine.models import CATALOGUE, PreparedModel, weights_path
from codex.engine.models.gguf_file import read_gguf
from codex.engine.models.tokenizer_json import write_tokenizer
from codex.engine.tokenizer import QwenTokenizer, byte_alphabet
from codex.errors import ModelCorrupt, UnsupportedModel


@pytest.fixture(scope="module")
def tokenizer_json(tmp_path_factory: pytest.TempPathFactory, tiny_gguf: Callable[..., Path]) -> Path:
    folder = tmp_path_factory.mktemp("tokenizer")
    write_tokenizer(read_gguf(tiny_gguf(folder / "tiny.gguf")), folder / "tokenizer.json")
    return folder / "tokenizer.json"


@pytest.fixture(scope="module")
def tokenizer(tokenizer_json: Path) -> QwenTokenizer:
    return QwenTokenizer.load(tokenizer_json)


def back(tokenizer: QwenTokenizer, ids: list[int]) -> str:
    return b"".join(map(tokenizer.token_bytes, ids)).decode("utf-8")


def test_decoding_gives_back_every_text(tokenizer: QwenTokenizer) -> None:
    @given(st.text())
    def round_trip(text: str) -> None:
        assert back(tokenizer, tokenizer.encode(text)) == text

    round_trip()


@pytest.mark.parametrize(
    "text", ["cafe\u0301 = 1", "\u212b", "a\r\nb\rc\n", "\t\tx", "\u2028\x00\x0b", "🎉👨‍👩‍👧"]
)
def test_text_that_normalising_would_change_is_kept(tokenizer: QwenTokenizer, text: str) -> None:
    assert back(tokenizer, tokenizer.encode(text)) == text


@pytest.mark.parametrize("name", SPECIAL_TOKENS)
def test_special_tokens_in_a_file_stay_plain_text(tokenizer: QwenTokenizer, name: str) -> None:
    ids = tokenizer.encode(f'end = "{name}"')
    assert not set(ids) & set(tokenizer.special_tokens.values())
    assert back(tokenizer, ids) == f'end = "{name}"'


def test_special_tokens_have_ids_but_no_bytes(tokenizer: QwenTokenizer) -> None:
    numbers = [tokenizer.special(name) for name in SPECIAL_TOKENS]
    assert numbers == list(range(266, 266 + len(SPECIAL_TOKENS)))  # 256 bytes and 10 merges come first
    assert {tokenizer.token_bytes(number) for number in numbers} == {b""}
    assert tokenizer.vocab_size == numbers[-1] + 1
    with pytest.raises(KeyError):
        tokenizer.special("<|no_such_token|>")


def test_ids_outside_the_vocabulary_have_no_bytes(tokenizer: QwenTokenizer) -> None:
    assert tokenizer.token_bytes(-1) == tokenizer.token_bytes(tokenizer.vocab_size) == b""


def test_merges_are_applied_within_words_only(tokenizer: QwenTokenizer) -> None:
    pieces = [tokenizer.token_bytes(token) for token in tokenizer.encode("def return in")]
    assert pieces == [b"def", b" ", b"return", b" in"]


def test_a_lone_surrogate_becomes_the_replacement_character(tokenizer: QwenTokenizer) -> None:
    assert back(tokenizer, tokenizer.encode("a\ud800b")) == "a\ufffdb"


def test_the_byte_alphabet_names_every_byte_once() -> None:
    assert sorted(byte_alphabet().values()) == list(range(256))


def test_truncation_normaliser_and_template_of_a_foreign_file_are_left_out(
    tokenizer_json: Path, tmp_path: Path
) -> None:
    config = json.loads(tokenizer_json.read_text())
    config["normalizer"] = {"type": "NFC"}
    config["truncation"] = {"direction": "Right", "max_length": 4, "strategy": "LongestFirst", "stride": 0}
    (tmp_path / "tokenizer.json").write_text(json.dumps(config))
    tokenizer = QwenTokenizer.load(tmp_path / "tokenizer.json")
    text = "cafe\u0301 " * 20
    assert back(tokenizer, tokenizer.encode(text)) == text


def changed(config: dict[str, Any], change: str) -> dict[str, Any]:
    match change:
        case "unigram":
            return config | {"model": config["model"] | {"type": "Unigram"}}
        case "no bytes":
            return config | {"decoder": {"type": "WordPiece"}}
        case _:
            return config | {"normalizer": {"type": "Lowercase"}}


@pytest.mark.parametrize("change", ["unigram", "no bytes", "lowercase"])
def test_other_kinds_of_tokenizer_are_refused(tokenizer_json: Path, change: str) -> None:
    with pytest.raises(UnsupportedModel):
        QwenTokenizer(changed(json.loads(tokenizer_json.read_text()), change))


@pytest.mark.parametrize("content", ["", "{", "[]", '{"model": {}, "added_tokens": []}', None])
def test_a_broken_tokenizer_file_is_refused_by_name(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "tokenizer.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(ModelCorrupt, match=r"tokenizer\.json"):
        QwenTokenizer.load(path)


@pytest.fixture(scope="module")
def real(prepared_model: PreparedModel) -> QwenTokenizer:
    return QwenTokenizer.load(prepared_model.path / "tokenizer.json")


QWEN = {
    "<|endoftext|>": 151643,
    "<|im_start|>": 151644,
    "<|im_end|>": 151645,
    "<|fim_prefix|>": 151659,
    "<|fim_middle|>": 151660,
    "<|fim_suffix|>": 151661,
    "<|fim_pad|>": 151662,
    "<|repo_name|>": 151663,
    "<|file_sep|>": 151664,
}


@pytest.mark.model
def test_the_real_vocabulary_has_qwens_special_ids(real: QwenTokenizer) -> None:
    assert {name: real.special(name) for name in QWEN} == QWEN
    assert real.vocab_size == 151665


@pytest.mark.model
def test_twenty_thousand_real_tokens_are_encoded_whole(real: QwenTokenizer) -> None:
    text = "def f(x):\n    return x + 1\n\n\n" * 2_500
    ids = real.encode(text)
    assert len(ids) >= 20_000
    assert back(real, ids) == text


@pytest.mark.model
def test_real_encoding_never_yields_a_special_id(real: QwenTokenizer) -> None:
    text = " ".join(QWEN)
    ids = real.encode(text)
    assert max(ids) < 151643
    assert back(real, ids) == text


@pytest.fixture(scope="module")
def vocabulary_only(prepared_model: PreparedModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The real vocabulary without the weights, some of which the engine's reader refuses."""
    source = read_gguf(weights_path(CATALOGUE[prepared_model.name], prepared_model.path.parent))
    path = tmp_path_factory.mktemp("vocabulary") / "vocabulary.gguf"
    writer = GGUFWriter(path, source.architecture)
    for key, field in source.fields.items():
        if key != "general.architecture":
            writer.add_key_value(key, field.value, field.type, field.element)
    writer.add_tensor("token_embd.weight", np.zeros((1, 32), np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.mark.model
def test_real_encoding_equals_that_of_the_engine_itself(real: QwenTokenizer, vocabulary_only: Path) -> None:
    """Below its cut at 8,192 tokens, and without special tokens, which it takes for what they spell."""
    import openvino_genai

    theirs = openvino_genai.Tokenizer(str(vocabulary_only))
    texts = [*VARIED, *sources()]
    for text in texts:
        expected = theirs.encode(text, add_special_tokens=False).input_ids.data[0].tolist()
        assert real.encode(text) == expected
    assert len(texts) >= 50


VARIED = (
    "a\r\nb\t\tc\r\r\n  \n\n x",
    "héllo wörld e\u0301 ñ 日本語 🎉👨\u200d👩\u200d👧 \u00a0x \u2028\u3000 \x0b\x0c",
    "I'M don't we'LL 'S ſ's",
    "x = 1234567890 + ٣٤٥ + 0xFF_FF - 1e-9",
    "SELECT * FROM `t` WHERE a<>'b';--\n#include <stdio.h>\n\tint main(){return 0;}",
)


def sources() -> list[str]:
    """The standard library's own files, cut well below 8,192 tokens."""
    paths = sorted(Path(json.__file__).parents[1].glob("[a-h]*.py"))[:100]
    texts = [path.read_text("utf-8")[:9000] for path in paths]
    return [text for text in texts if "<|" not in text]
