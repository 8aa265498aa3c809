"""Special tokens are looked up by name, checked, and never made from user text."""

from __future__ import annotations

import pytest

from codex.engine.mock import SPECIAL_TOKENS, ByteTokenizer
from codex.errors import UnsupportedModel
from codex.prompt import SPECIAL_NAMES, Template


class _Missing(ByteTokenizer):
    def special(self, name: str) -> int:
        if name == "<|fim_pad|>":
            raise KeyError(name)
        return super().special(name)


class _Shared(ByteTokenizer):
    def special(self, name: str) -> int:
        return 256


class _Leaking(ByteTokenizer):
    def encode(self, text: str) -> list[int]:
        return [SPECIAL_TOKENS[text]] if text in SPECIAL_TOKENS else super().encode(text)


def test_ids_come_from_the_vocabulary() -> None:
    template = Template.of(ByteTokenizer())
    assert template.fim_prefix == SPECIAL_TOKENS["<|fim_prefix|>"]
    assert template.all_ids == {SPECIAL_TOKENS[name] for name in SPECIAL_NAMES}


def test_code_stops_at_every_special_token_and_chat_at_turns() -> None:
    template = Template.of(ByteTokenizer())
    assert template.code_stops == template.all_ids
    assert template.chat_stops == {template.im_end, template.im_start, template.endoftext}


@pytest.mark.parametrize(
    ("tokenizer", "words"),
    [(_Missing(), "fim_pad"), (_Shared(), "share an id"), (_Leaking(), "plain text")],
    ids=["missing", "shared", "leaking"],
)
def test_a_vocabulary_that_cannot_carry_the_template_is_refused(tokenizer: ByteTokenizer, words: str) -> None:
    with pytest.raises(UnsupportedModel, match=words):
        Template.of(tokenizer)
