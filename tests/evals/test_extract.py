"""Golden cases of the way from an answer to a program."""

from __future__ import annotations

import ast

import pytest

from codex.evals.extract import (
    CodeEnd,
    as_it_stands,
    begun_end,
    continuation_end,
    continued,
    fenced_blocks,
    program,
)

PROMPT = (
    "from typing import List\n\n\ndef helper(x):\n    return x\n\n\n"
    'def add(a: List[int]) -> int:\n    """Sum."""\n'
)


def same(first: str, second: str) -> bool:
    return ast.dump(ast.parse(first)) == ast.dump(ast.parse(second))


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("```python\ndef add(a):\n    return sum(a)\n```", "def add(a):\n    return sum(a)"),
        ("Sure!\n\n```py\ndef add(a):\n    return sum(a)\n```\nIt adds.", "def add(a):\n    return sum(a)"),
        ("def add(a):\n    return sum(a)\n", "def add(a):\n    return sum(a)"),
        ("```python\ndef add(a):\n    return sum(a)", "def add(a):\n    return sum(a)"),
        (
            "```\nimport math\ndef add(a):\n    return math.fsum(a)\n\nprint(add([1]))\n"
            "assert add([1]) == 1\n```",
            "import math\ndef add(a):\n    return math.fsum(a)",
        ),
        (
            "```python\nONE = 1\ndef other():\n    return ONE\ndef add(a):\n    return sum(a) * other()\n"
            "def idle():\n    pass\n```",
            "ONE = 1\ndef other():\n    return ONE\ndef add(a):\n    return sum(a) * other()",
        ),
        (
            "Example:\n```python\nadd([1, 2])\n```\nCode:\n```python\ndef add(a):\n    return sum(a)\n```",
            "def add(a):\n    return sum(a)",
        ),
        (
            "```python\ndef add(a):\n    return sum(a)\nThis function adds\n```",
            "def add(a):\n    return sum(a)",
        ),
        (
            "````python\ndef add(a):\n    '''```'''\n    return sum(a)\n````",
            "def add(a):\n    '''```'''\n    return sum(a)",
        ),
        ("```python\r\ndef add(a):\r\n    return sum(a)\r\n```", "def add(a):\n    return sum(a)"),
        (
            "```python\ndef add(a):\n    return 0\ndef add(a):\n    return sum(a)\n```",
            "def add(a):\n    return 0\ndef add(a):\n    return sum(a)",
        ),
    ],
)
def test_program_keeps_the_function_and_what_it_needs(answer: str, expected: str) -> None:
    assert same(program(answer, "add"), expected)


@pytest.mark.parametrize(
    "answer", ["", "I cannot.", "```python\ndef sub(a):\n    return a\n```", "def add(:\n", "add = 3"]
)
def test_no_such_function_gives_an_empty_program(answer: str) -> None:
    assert program(answer, "add") == ""


def test_the_prompts_imports_and_helpers_stand_above_the_answer() -> None:
    found = program("```python\ndef add(a: List[int]) -> int:\n    return helper(sum(a))\n```", "add", PROMPT)
    space: dict[str, object] = {}
    exec(found, space)
    assert space["add"]([1, 2]) == 3  # type: ignore[operator]
    own = program(
        "```python\ndef helper(x):\n    return 7\ndef add(a):\n    return helper(a)\n```", "add", PROMPT
    )
    exec(own, space)
    assert space["add"]([1]) == 7  # type: ignore[operator]


def test_future_imports_come_first() -> None:
    found = program(
        "```python\nfrom __future__ import annotations\ndef add(a: X) -> int:\n    return 1\n```",
        "add",
        PROMPT,
    )
    compile(found, "found", "exec")


def test_as_it_stands_is_the_first_block_or_everything() -> None:
    assert as_it_stands("Hi\n```python\nx = 1\n```\n```\ny\n```") == "x = 1\n"
    assert as_it_stands("x = 1") == "x = 1"


def test_fences_of_other_kinds() -> None:
    assert fenced_blocks("~~~\na\n~~~\n```\nb\n```") == ["a\n", "b\n"]
    assert fenced_blocks("```\n```") == ["\n"]
    assert fenced_blocks("none") == []


def test_a_continuation_ends_where_the_function_is_left() -> None:
    answer = "    return sum(a)\n\n\ndef other():\n    pass\n"
    assert answer[: continuation_end(answer)] == "    return sum(a)\n\n\n"
    assert continuation_end("    x = [\n]\n    return x\n") is None
    assert continuation_end("    return 1\n\n# Test") == len("    return 1\n\n")
    cut = answer[: continuation_end(answer)]
    assert same(continued(PROMPT, cut, "add"), PROMPT + "    return sum(a)\n")


@pytest.mark.parametrize(
    ("answer", "kept"),
    [
        (
            "    return twice(a)\n\ndef twice(a):\n    return 1\n```\nIt",
            "    return twice(a)\n\ndef twice(a):\n    return 1\n",
        ),
        ("    return 1\n\n# Test", "    return 1\n\n"),
        ("    return 1\n\nprint(add(1))", "    return 1\n\n"),
    ],
)
def test_a_begun_answer_may_put_helpers_below(answer: str, kept: str) -> None:
    assert answer[: begun_end(answer)] == kept


def test_a_begun_answer_goes_on_until_the_line_is_known() -> None:
    answer = "    return 1\n\ndef twice():\n    pass\n"
    assert {begun_end(answer[:cut]) for cut in range(len(answer) + 1)} == {None}


@pytest.mark.parametrize(
    ("answer", "kept"),
    [
        (
            "```python\ndef add(a):\n    return sum(a)\n```\nThis",
            "```python\ndef add(a):\n    return sum(a)\n",
        ),
        (
            "```python\ndef add(a):\n    return 1\n\n# Test\nprint(add",
            "```python\ndef add(a):\n    return 1\n\n",
        ),
        ("import x\ndef add(a):\n    return 1\n\nassert add(1)\n", "import x\ndef add(a):\n    return 1\n\n"),
    ],
)
def test_code_end_keeps_the_function(answer: str, kept: str) -> None:
    end = CodeEnd("add")(answer)
    assert end is not None
    assert answer[:end] == kept


@pytest.mark.parametrize(
    "answer",
    [
        "```python\n",
        "Here:\n```python\nimport math\n",
        "```python\ndef add(a):\n    return sum(a)\n``",
        "```python\ndef helper():\n    pass\n\ndef add(a):\n    return",
        'def add(a):\n    """\nprint(not code)\n# nor this\n',
    ],
)
def test_code_end_waits_while_the_function_is_open(answer: str) -> None:
    assert CodeEnd("add")(answer) is None


def test_code_end_is_the_same_however_the_stream_is_cut() -> None:
    answer = "Sure:\n```python\ndef add(a):\n    return sum(a)\n\nprint(add([1]))\n```\nBye"
    ends = {CodeEnd("add")(answer[:cut]) for cut in range(len(answer) + 1)} - {None}
    assert len(ends) == 1
