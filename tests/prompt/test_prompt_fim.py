"""Fill-in-the-middle prompts: both forms, and what is left out when they do not fit."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex.engine.mock import SPECIAL_TOKENS, ByteTokenizer
from codex.errors import ContextLengthExceeded
from codex.prompt import build_prompt
from codex.types import FimInput, Prompt, Request, Sampling, SourceFile

Written = Callable[[Iterable[int]], str]
CONTEXT = (SourceFile("lib/a.py", "A = 1\n"), SourceFile("lib/b.py", "B = 2"))


def build(source: FimInput, window: int, *, max_tokens: int = 10, truncate: bool = False) -> Prompt:
    request = Request("r", source, sampling=Sampling(max_tokens=max_tokens), truncate=truncate)
    return build_prompt(request, tokenizer=ByteTokenizer(), context_length=window)


def test_the_file_form_is_prefix_suffix_middle(written: Written) -> None:
    prompt = build(FimInput("def f():\n    ", "\n"), 100)
    assert written(prompt.tokens) == "<|fim_prefix|>def f():\n    <|fim_suffix|>\n<|fim_middle|>"
    assert prompt.stop_token_ids == set(SPECIAL_TOKENS.values())
    assert prompt.truncated_tokens == 0


def test_the_repository_form_puts_the_current_file_last(written: Written) -> None:
    source = FimInput("x = ", "\n", path="main.py", repository="tools", context=CONTEXT)
    assert written(build(source, 300).tokens) == (
        "<|repo_name|>tools\n"
        "<|file_sep|>lib/a.py\nA = 1\n"
        "<|file_sep|>lib/b.py\nB = 2\n"
        "<|file_sep|>main.py\n<|fim_prefix|>x = <|fim_suffix|>\n<|fim_middle|>"
    )


def test_context_without_names_still_has_its_form(written: Written) -> None:
    text = written(build(FimInput("x", "", context=CONTEXT[:1]), 300).tokens)
    assert text.startswith("<|repo_name|>workspace\n<|file_sep|>lib/a.py\n")
    assert "<|file_sep|>untitled\n<|fim_prefix|>" in text


def test_special_tokens_in_user_text_stay_text() -> None:
    names = "".join(SPECIAL_TOKENS)
    source = FimInput(names, names, path=names, repository=names, context=(SourceFile(names, names),))
    special = [token for token in build(source, 5000).tokens if token >= 256]
    order = (
        "<|repo_name|>",
        "<|file_sep|>",
        "<|file_sep|>",
        "<|fim_prefix|>",
        "<|fim_suffix|>",
        "<|fim_middle|>",
    )
    assert special == [SPECIAL_TOKENS[name] for name in order]


def test_a_prompt_that_does_not_fit_is_refused_with_numbers() -> None:
    with pytest.raises(
        ContextLengthExceeded, match=r"203 tokens.*only 90 fit.*max_tokens 10.*100.*truncate"
    ) as e:
        build(FimInput("a" * 150, "b" * 50), 100)
    assert (e.value.code, e.value.param) == ("context_length_exceeded", "prompt")


def test_a_prompt_that_just_fits_is_whole() -> None:
    prompt = build(FimInput("a" * 60, "b" * 27), 100)
    assert (len(prompt.tokens), prompt.truncated_tokens) == (90, 0)
    with pytest.raises(ContextLengthExceeded):
        build(FimInput("a" * 60, "b" * 28), 100)


def test_truncation_keeps_what_is_next_to_the_cursor(written: Written) -> None:
    prompt = build(FimInput("a" * 500 + "<", ">" + "b" * 500), 110, truncate=True)
    text = written(prompt.tokens)
    assert "a<<|fim_suffix|>>b" in text
    assert len(prompt.tokens) == 100
    assert prompt.truncated_tokens == 1002 - 97


def test_truncation_cuts_at_lines(written: Written) -> None:
    lines = "".join(f"value_{number:02} = {number:02}\n" for number in range(40))
    prompt = build(FimInput(lines, lines), 320, truncate=True)
    text = written(prompt.tokens)
    assert text.startswith("<|fim_prefix|>value_")
    assert text.endswith("\n<|fim_middle|>")
    kept = len(prompt.tokens) - 3
    assert prompt.truncated_tokens == 2 * len(lines) - kept


def test_context_files_go_first_the_last_one_before_the_others(written: Written) -> None:
    source = FimInput("x = ", "\n", path="m.py", context=(*CONTEXT, SourceFile("lib/c.py", "C" * 100)))
    prompt = build(source, 110, truncate=True)
    text = written(prompt.tokens)
    assert "lib/a.py" in text
    assert "lib/b.py" in text
    assert "lib/c.py" not in text
    assert "<|fim_prefix|>x = <|fim_suffix|>\n" in text
    assert prompt.truncated_tokens == 1 + len("lib/c.py\n" + "C" * 100 + "\n")


def test_without_room_for_any_context_the_file_form_is_used(written: Written) -> None:
    source = FimInput("x" * 60, "y" * 20, context=CONTEXT)
    prompt = build(source, 100, truncate=True)
    assert written(prompt.tokens) == f"<|fim_prefix|>{'x' * 60}<|fim_suffix|>{'y' * 20}<|fim_middle|>"
    assert prompt.truncated_tokens == 2 + len("lib/a.py\nA = 1\nlib/b.py\nB = 2\n")


def test_a_window_of_nothing_is_refused_even_when_truncating() -> None:
    with pytest.raises(ContextLengthExceeded):
        build(FimInput("x", "y"), 12, truncate=True, max_tokens=10)


@given(
    prefix=st.text(max_size=80),
    suffix=st.text(max_size=80),
    files=st.lists(st.builds(SourceFile, st.just("p"), st.text(max_size=30)), max_size=3),
    window=st.integers(15, 200),
)
def test_a_truncated_prompt_always_fits_and_counts(
    prefix: str, suffix: str, files: list[SourceFile], window: int
) -> None:
    source = FimInput(prefix, suffix, context=tuple(files))
    prompt = build(source, window, max_tokens=10, truncate=True)
    assert len(prompt.tokens) <= window - 10
    markers = sum(token >= 256 for token in prompt.tokens)
    assert markers >= 3
    whole = build(source, 10_000, truncate=False)
    assert (prompt.truncated_tokens == 0) == (prompt.tokens == whole.tokens)


def test_a_huge_file_is_no_trouble() -> None:
    line = "value = compute(other)\n"
    prompt = build(FimInput(line * 400_000, line * 400_000), 4096, truncate=True)
    assert len(prompt.tokens) <= 4086
    assert prompt.truncated_tokens == pytest.approx(2 * len(line) * 400_000, rel=0.01)
