"""What an answer passes on its way out, put together from a request."""

from __future__ import annotations

import pytest

from codex.guard import make_cleaner
from codex.guard.special import SPELLED_SPECIAL_TOKENS
from codex.types import ChatInput, FimInput, Message, Request, TextInput

FIM = FimInput("def f(a, b):\n    return ", "\n", path="a.py")
WHOLE = [
    ("a.py", "def f(a, b):\n    return ‸\n", " a + b\n\ndef g():\n    return 1\n", "a + b"),
    ("a.py", "def f(a, b):\n    return max(‸)\n", "a, b)\n\nprint(f(1, 2))\n", "a, b"),
    ("a.py", "class A:\n    def a(self):\n        ‸\n", "        return 1\n\n    def b(self):\n", "return 1"),
    ("a.py", "import os\nimport sys\n‸\n", "import sys\nimport sys\nimport sys\n", ""),
    (
        "a.py",
        "def f(x):\n    ‸\n    return x\n",
        "x += 1\n    x += 2\n    return x\n\nf(1)\n",
        "x += 1\n    x += 2",
    ),
    ("a.py", "x = ‸\n", "1<|endoftext|>junk", "1"),
    ("a.js", "function f(a) {\n  ‸\n}\n", "return a;\n}\n\n// Test\nconsole.log(f(1));\n", "return a;"),
    (
        "a.js",
        "const f = (a) => {\n  ‸\n};\n",
        "if (a) {\n    go();\n  }\n};\nf();",
        "if (a) {\n    go();\n  }",
    ),
    ("a.ts", "const xs = ys.map((y) => ‸);\n", "y.id);\nconsole.log(xs);", "y.id"),
    ("A.java", "class A {\n    int f() {\n        ‸\n    }\n}\n", "return 1;\n    }\n}\n", "return 1;"),
    ("a.go", "func f() error {\n\t‸\n}\n", "return nil\n}\n\nfunc main() {\n", "return nil"),
    ("a.rs", "fn f() -> u8 {\n    ‸\n}\n", "1\n}\n\nfn main() {}\n", "1"),
    ("a.cpp", "int main() {\n    ‸\n    return 0;\n}\n", "run();\n    return 0;\n}\n", "run();"),
    (None, "def f(a):\n    ‸\n", "return a\n\n# Check\nprint(f(1))\n", "return a"),
    (None, "int f(int a) {\n    a++;\n    ‸\n}\n", "return a;\n}\n\nint main() {\n", "return a;"),
]


def run(request: Request, answer: str, size: int) -> str:
    cleaner = make_cleaner(request)
    out = ""
    for start in range(0, len(answer), size):
        text, stop = cleaner.push(answer[start : start + size])
        out += text
        if stop:
            break
    return out + cleaner.finish()


@pytest.mark.parametrize(("path", "source", "answer", "expected"), WHOLE)
def test_a_fim_answer_fits_its_place(path: str | None, source: str, answer: str, expected: str) -> None:
    prefix, suffix = source.split("‸")
    request = Request("r", FimInput(prefix, suffix, path=path))
    assert {run(request, answer, size) for size in (1, 2, 5, 1000)} == {expected}


def test_the_table_is_complete() -> None:
    assert len(WHOLE) == 15


@pytest.mark.parametrize("token", SPELLED_SPECIAL_TOKENS)
@pytest.mark.parametrize(
    "source", [FIM, TextInput("x"), ChatInput((Message("user", "x"),))], ids=["fim", "text", "chat"]
)
def test_a_spelled_special_token_never_leaves(source: FimInput | TextInput | ChatInput, token: str) -> None:
    for size in (1, 3, 100):
        assert run(Request("r", source), f"a + b{token} c", size) == "a + b"


def test_a_pipe_operator_is_no_special_token() -> None:
    assert run(Request("r", TextInput("let y = ")), "f <| g |> h", 1) == "f <| g |> h"


def test_stop_strings_work_for_every_kind() -> None:
    for source in (FIM, TextInput("x"), ChatInput((Message("user", "x"),))):
        assert run(Request("r", source, stop=("+",)), "a + b", 1).rstrip() == "a"


def test_without_cleanup_a_fim_answer_is_left_as_it_is() -> None:
    answer = " a + b\n\ndef g():\n"
    assert run(Request("r", FIM, cleanup=False), answer, 4) == answer


def test_chat_and_text_are_not_cleaned_up() -> None:
    for source in (TextInput("def f():\n"), ChatInput((Message("user", "x"),))):
        assert run(Request("r", source), "x \nx \nx \nx \n", 3) == "x \nx \nx \nx \n"


def test_a_stop_tells_the_caller_to_cancel() -> None:
    cleaner = make_cleaner(Request("r", FIM))
    cleaned = cleaner.push("a + b\n\ndef g():\n    return 1\n")
    assert cleaned.stop
    assert cleaned.text == "a + b"
    assert cleaner.push("more") == ("", True)
    assert cleaner.finish() == ""


def test_single_line_stops_at_the_line_end() -> None:
    cleaner = make_cleaner(Request("r", FIM, single_line=True))
    assert cleaner.push("a + b\n").stop


def test_the_first_line_is_not_held_back() -> None:
    cleaner = make_cleaner(Request("r", FIM))
    assert cleaner.push("total").text == "total"
    assert cleaner.push(" + rate").text == " + rate"
