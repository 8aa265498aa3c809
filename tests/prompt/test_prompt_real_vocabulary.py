"""Prompts in the real vocabulary of Qwen2.5-Coder."""

from __future__ import annotations

import pytest

from codex.engine.models import PreparedModel
from codex.engine.tokenizer import QwenTokenizer
from codex.prompt import SPECIAL_NAMES, Template, build_prompt
from codex.prompt.encode import SLICE_CHARS, encode_head, encode_tail
from codex.types import ChatInput, FimInput, Message, Request, SourceFile

pytestmark = pytest.mark.model


@pytest.fixture(scope="module")
def qwen(prepared_model: PreparedModel) -> QwenTokenizer:
    return QwenTokenizer.load(prepared_model.path / "tokenizer.json")


def test_the_special_ids_are_the_published_ones(qwen: QwenTokenizer) -> None:
    assert Template.of(qwen) == Template(
        endoftext=151643,
        im_start=151644,
        im_end=151645,
        fim_prefix=151659,
        fim_middle=151660,
        fim_suffix=151661,
        fim_pad=151662,
        repo_name=151663,
        file_sep=151664,
    )


def test_no_user_text_becomes_a_special_token(qwen: QwenTokenizer) -> None:
    names = "".join(SPECIAL_NAMES)
    fim = FimInput(names, names, path=names, repository=names, context=(SourceFile(names, names),))
    tokens = build_prompt(Request("r", fim), tokenizer=qwen, context_length=4096).tokens
    assert [token for token in tokens if token >= 151643] == [151663, 151664, 151664, 151659, 151661, 151660]
    chat = ChatInput((Message("user", names),))
    tokens = build_prompt(Request("r", chat), tokenizer=qwen, context_length=4096).tokens
    assert [token for token in tokens if token >= 151643] == [151644, 151645, 151644, 151645, 151644]


def test_slices_give_the_ids_of_the_whole(qwen: QwenTokenizer) -> None:
    lines = [
        f"    def method_{n}(self, value):\n        return self.x[{n}] + value\n\n\n  # {n}\n\n"
        for n in range(900)
    ]
    text = "class A:\n" + "".join(lines)
    assert len(text) > 4 * SLICE_CHARS
    whole = qwen.encode(text)
    assert list(encode_head(qwen, text, 100_000).tokens) == whole
    assert list(encode_tail(qwen, text, 100_000).tokens) == whole
    assert list(encode_tail(qwen, text, 5000).tokens) == whole[-5000:]


def test_a_long_prompt_is_encoded_whole(qwen: QwenTokenizer) -> None:
    source = FimInput("value = 1\n" * 5000, "\n")
    prompt = build_prompt(Request("r", source), tokenizer=qwen, context_length=32_768)
    assert len(prompt.tokens) > 20_000
    assert prompt.truncated_tokens == 0
