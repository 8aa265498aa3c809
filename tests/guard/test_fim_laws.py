"""Every pass, and the whole chain, gives the same answer for every way to split it into chunks."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from codex.guard.fim.cleaner import PASSES, AnswerPass, FimCleaner
from codex.guard.fim.context import FimContext
from codex.guard.language import LANGUAGES, PLAIN, Language

PIECES = (
    *(
        "def f(a):",
        "class A:",
        "@wraps",
        "if x:",
        "else:",
        "elif y:",
        "return x",
        "return total",
        "foo(a)",
        "bar",
    ),
    *(
        "x = 1",
        "pass",
        "for i in y:",
        "# note",
        "'''",
        '"""',
        '"s"',
        "'",
        '"',
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "});",
    ),
    *(
        "function g() {",
        "const h = () => {",
        "if (x) {",
        "} else {",
        "foo();",
        "};",
        "/*",
        "*/",
        "// c",
        "`",
        "/",
    ),
    *(
        "\n",
        "\n",
        "\n",
        "\n    ",
        "\n    ",
        "\n        ",
        "\n\t",
        " ",
        "  ",
        ",",
        ":",
        ";",
        "=",
        "\r\n",
        "é",
        "0, 1, ",
    ),
    *("def ", "fun", "ction ", "'a'", "\\", "x", "total", "value.append(1)"),
)
text = st.lists(st.sampled_from(PIECES), max_size=14).map("".join)
languages = st.sampled_from(
    [LANGUAGES[name] for name in ("python", "javascript", "rust", "go", "cpp")] + [PLAIN]
)
contexts = st.builds(
    FimContext.around, text, text, languages, single_line=st.sampled_from([False, False, False, True])
)
repeated = st.one_of(text, st.builds(lambda a, b: a + b * 3, text, text))


def stream(ctx: FimContext, answer: str, cuts: list[int], passes: tuple[AnswerPass, ...] = PASSES) -> str:
    cleaner = FimCleaner(ctx, passes)
    edges = sorted({0, len(answer), *(cut % (len(answer) + 1) for cut in cuts)})
    out = ""
    for start, end in pairwise(edges):
        cleaned = cleaner.push(answer[start:end])
        out += cleaned.text
        if cleaned.stop:
            assert cleaner.push("more").text == ""
            break
    return out + cleaner.finish()


def every_character(answer: str) -> list[int]:
    return list(range(len(answer)))


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(ctx=contexts, answer=repeated, cuts=st.lists(st.integers(0, 500), max_size=8))
def test_the_chain_gives_the_same_for_every_chunking(ctx: FimContext, answer: str, cuts: list[int]) -> None:
    whole = stream(ctx, answer, [])
    assert stream(ctx, answer, cuts) == whole
    assert stream(ctx, answer, every_character(answer)) == whole


@pytest.mark.parametrize("answer_pass", PASSES, ids=lambda p: p.__name__)
def test_a_pass_never_takes_back(answer_pass: AnswerPass) -> None:
    @settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(ctx=contexts, answer=repeated)
    def check(ctx: FimContext, answer: str) -> None:
        final = answer_pass(answer, ctx, True)
        before = 0
        for length in range(len(answer) + 1):
            cut = answer_pass(answer[:length], ctx, False)
            assert before <= cut.end <= length
            assert cut.end <= final.end
            if cut.stop:
                assert final.end == cut.end
            before = cut.end

    check()


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(ctx=contexts, answer=repeated)
def test_an_answer_is_a_part_of_what_the_model_wrote(ctx: FimContext, answer: str) -> None:
    cleaned = stream(ctx, answer, [])
    assert cleaned in answer
    assert cleaned == "" or cleaned.strip()


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(ctx=contexts, answer=repeated, language=languages)
def test_single_line_mode_gives_one_visible_line(ctx: FimContext, answer: str, language: Language) -> None:
    single = FimContext.around(ctx.prefix, ctx.suffix, language, single_line=True)
    assert len(stream(single, answer, []).strip().split("\n")) == 1
