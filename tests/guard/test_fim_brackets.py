"""Golden cases of `brackets`: no bracket is closed twice."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from codex.guard.fim.brackets import closes_only_its_own

# Language, source with the cursor at ‸, what the model wrote, what is left of it.
CASES = [
    (
        "javascript",
        "  if (a) {\n    ‸\n  }\n",
        "b();\n  } else {\n    c();\n  }\n",
        "b();\n  } else {\n    c();\n  ",
    ),
    (
        "java",
        "  try {\n    ‸\n  }\n",
        "a();\n  } catch (E e) {\n    b();",
        "a();\n  } catch (E e) {\n    b();",
    ),
    ("javascript", "  if (a) {\n    b();‸  }\n  c();\n", "\n    d();\n  }\n  c();\n", "\n    d();\n  "),
    ("javascript", "f(() => {\n  a();\n‸});\n", "  b();\n});\n", "  b();\n"),
    ("python", "foo(‸)\n", "a, b)", "a, b"),
    ("python", "foo(‸)\n", "bar(a))", "bar(a)"),
    ("python", "foo(bar(‸)\n", "a))", "a)"),
    ("python", "foo(‸\n", "a, b)", "a, b)"),
    ("python", "x = [\n    1,\n    ‸\n]\n", "2,\n]\n", "2,\n"),
    ("python", 'd = {"a": ‸}\n', "[1, 2]}", "[1, 2]"),
    ("python", "print(‸)  # (done\n", '":)")', '":)"'),
    ("javascript", "function f() {\n  ‸\n}\n", "return 1;\n}\n", "return 1;\n"),
    ("javascript", "function f() {\n  ‸\n", "return 1;\n}\n", "return 1;\n}\n"),
    ("javascript", "a.forEach((x) => {\n  ‸\n});\n", "go(x);\n});\n", "go(x);\n"),
    ("javascript", "const r = ‸;\n", "/[)}]/.test(s)", "/[)}]/.test(s)"),
    ("javascript", "  if (a) {\n    ‸\n  }\n  b();\n", "x();\n  }\n  y();", "x();\n  "),
    ("typescript", "class A {\n  m(): void {\n    ‸\n", "go();\n  }\n}\n}\n", "go();\n  }\n}\n"),
    ("java", "class A {\n    void m() {\n        ‸\n    }\n", "go();\n    }\n}\n", "go();\n    "),
    ("go", "func f() {\n\tif x {\n\t\t‸\n\t}\n}\n", "return\n\t}\n", "return\n\t"),
    ("rust", "fn f<'a>(x: &'a str) {\n    ‸\n}\n", "let c = '}';\n}\n", "let c = '}';\n"),
    (
        "cpp",
        "int main() {\n    ‸\n}\n",
        "char c = '{';\n    return 0;\n}\n",
        "char c = '{';\n    return 0;\n",
    ),
    ("python", 'f"{‸}"\n', "name", "name"),
]


@pytest.mark.parametrize(("language", "source", "answer", "expected"), CASES)
def test_no_bracket_is_closed_twice(
    clean: Callable[..., str], language: str, source: str, answer: str, expected: str
) -> None:
    assert clean(language, source, answer, closes_only_its_own) == expected


def test_the_table_is_complete() -> None:
    assert len(CASES) == 22
