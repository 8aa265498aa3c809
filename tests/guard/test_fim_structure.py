"""Golden cases of `structure`: an answer ends with a complete statement where it can."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from codex.guard.fim.structure import ends_complete

# Language, source with the cursor at ‸, what the model wrote, what is left of it.
CASES = [
    ("python", "def f(x):\n    ‸\n", "y = x + 1\n    return foo(y, ", "y = x + 1"),
    ("python", "def f(x):\n    ‸\n", "y = x + 1\n    return foo(y)", "y = x + 1\n    return foo(y)"),
    ("python", "def f(x):\n    ‸\n", "return foo(y, ", "return foo(y, "),
    ("python", "def f(x):\n    ‸\n", "y = 1\n    if x", "y = 1"),
    (
        "python",
        "def f(x):\n    ‸\n",
        "y = 1\n    if x:\n        return y\n    z = [1,\n         2,",
        "y = 1\n    if x:\n        return y",
    ),
    ("python", "def f(x):\n    ‸\n        y = 2\n", "a = 1\n    if x:", "a = 1\n    if x:"),
    ("python", "def f(x):\n    ‸\n", 'a = 1\n    b = """text\n', "a = 1"),
    ("javascript", "function f(x) {\n  ‸\n}\n", "const y = x;\n  if (y) {\n    go(", "const y = x;"),
    (
        "javascript",
        "function f(x) {\n  ‸\n}\n",
        "const y = x;\n  if (y) {\n    go();\n  }",
        "const y = x;\n  if (y) {\n    go();\n  }",
    ),
    (
        "javascript",
        "function f(x) {\n  ‸\n}\n",
        "return [1, 2].map((a) => {\n    return a",
        "return [1, 2].map((a) => {\n    return a",
    ),
    (
        "typescript",
        "function f(x: number) {\n  ‸\n}\n",
        "const y: number = x;\n  const z: Record<string,",
        "const y: number = x;",
    ),
    ("tsx", "const A = () => {\n  ‸\n};\n", "const x = 1;\n  return <div>", "const x = 1;"),
    (
        "java",
        "class A {\n    void m() {\n        ‸\n    }\n}\n",
        'int a = 1;\n        String s = "ab',
        "int a = 1;",
    ),
    ("go", "package a\n\nfunc f() {\n\t‸\n}\n", "x := 1\n\tfor i := range", "x := 1"),
    ("rust", "fn f() {\n    ‸\n}\n", "let x = 1;\n    let y = match x {\n        1 => 2,", "let x = 1;"),
    ("cpp", "int main() {\n    ‸\n}\n", "int a = 1;\n    std::vector<int> v = {1, 2", "int a = 1;"),
    ("c", "int main(void) {\n    ‸\n}\n", 'int a = 1;\n    printf("%d', "int a = 1;"),
    ("csharp", "class A {\n  void M() {\n    ‸\n  }\n}\n", "var a = 1;\n    foo(a,", "var a = 1;"),
    (
        "csharp",
        "class A {\n  void M() {\n    ‸\n  }\n}\n",
        "var a = 1;\n    foo(a);",
        "var a = 1;\n    foo(a);",
    ),
]


@pytest.mark.parametrize(("language", "source", "answer", "expected"), CASES)
def test_an_answer_ends_complete_where_it_can(
    clean: Callable[..., str], language: str, source: str, answer: str, expected: str
) -> None:
    assert clean(language, source, answer, ends_complete) == expected


def test_the_table_is_complete() -> None:
    assert len(CASES) == 19
