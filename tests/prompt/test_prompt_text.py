"""Plain continuations: text or ids."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from codex.engine.mock import SPECIAL_TOKENS, ByteTokenizer
from codex.errors import ContextLengthExceeded, RequestError
from codex.prompt import build_prompt
from codex.types import Prompt, Request, Sampling, TextInput


def build(text: str | tuple[int, ...], window: int = 100, *, truncate: bool = False) -> Prompt:
    request = Request("r", TextInput(text), sampling=Sampling(max_tokens=10), truncate=truncate)
    return build_prompt(request, tokenizer=ByteTokenizer(), context_length=window)


def test_text_is_encoded_as_it_is(written: Callable[[Iterable[int]], str]) -> None:
    prompt = build("x = <|endoftext|>")
    assert written(prompt.tokens) == "x = <|endoftext|>"
    assert max(prompt.tokens) < 256


def test_ids_are_taken_as_they_are() -> None:
    ids = (1, 2, SPECIAL_TOKENS["<|fim_prefix|>"])
    assert build(ids).tokens == ids


@pytest.mark.parametrize("token", [-1, 265])
def test_ids_outside_the_vocabulary_are_refused(token: int) -> None:
    with pytest.raises(RequestError, match=f"token id {token} is not in the vocabulary"):
        build((1, token))


def test_nothing_is_the_start_of_a_document() -> None:
    assert build("").tokens == (SPECIAL_TOKENS["<|endoftext|>"],)


def test_what_does_not_fit_is_refused_or_keeps_its_end() -> None:
    for text in ("a" * 200 + "b", (97,) * 200 + (98,)):
        with pytest.raises(ContextLengthExceeded, match="201 tokens"):
            build(text)
        prompt = build(text, truncate=True)
        assert len(prompt.tokens) <= 90
        assert prompt.tokens[-1] == 98
        assert prompt.truncated_tokens == 201 - len(prompt.tokens)
