"""Golden cases of `below`: a line that follows anyway is not written."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from codex.guard.fim.below import stops_before_below

# Language, source with the cursor at ‸, what the model wrote, what is left of it.
CASES = [
    (
        "python",
        "def f(x):\n    ‸\n    return total\n",
        "total = x + 1\n    return total",
        "total = x + 1\n",
    ),
    ("python", "    ‸return total\n", "return total", ""),
    (
        "python",
        "    if x:\n        ‸\n    return False\n",
        "return True\n    return False\n",
        "return True\n",
    ),
    (
        "python",
        "    if x:\n        ‸\n    return False\n",
        "log(x)\n        return False\n",
        "log(x)\n        return False\n",
    ),
    ("python", "    ‸\n    else:\n        b()\n", "a()\n    else:\n        b()", "a()\n"),
    (
        "python",
        "class A:\n    def a(self):\n        ‸\n\n    def b(self):\n        pass\n",
        "return 1\n\n    def b(self):\n        return 2",
        "return 1\n\n",
    ),
    (
        "python",
        "    s = []‸    for i in s:\n        use(i)\n    return s\n",
        "\n    s.sort()\n    for i in s:\n        use(i)\n",
        "\n    s.sort()\n",
    ),
    (
        "python",
        "    start = 0‸    count = 0\n    while start < end:\n        step()\n",
        "\n    end = len(a)\n    while start < end:\n",
        "\n    end = len(a)\n",
    ),
    (
        "javascript",
        "  ‸\n  return total;\n}\n",
        "const total = a + b;\n  return total;\n}",
        "const total = a + b;\n",
    ),
    ("javascript", "  ‸\n  send( data );\n}\n", "open();\n  send(data);\n", "open();\n"),
    (
        "typescript",
        "  ‸\n}\n\nexport function stop(): void {\n",
        "go();\n}\n\nexport function stop(): void {\n  halt();\n}",
        "go();\n}\n\n",
    ),
    (
        "java",
        "        ‸\n        return sum;\n    }\n",
        "int sum = 0;\n        return  sum;",
        "int sum = 0;\n",
    ),
    (
        "go",
        "\t‸\n\treturn nil\n}\n",
        "if err != nil {\n\t\treturn err\n\t}\n\treturn nil\n",
        "if err != nil {\n\t\treturn err\n\t}\n",
    ),
    ("rust", "    ‸\n    Ok(total)\n}\n", "let total = 1;\n    Ok(total)\n", "let total = 1;\n"),
    ("cpp", "    ‸\n    return 0;\n}\n", "std::cout << x;\n    return 0;\n", "std::cout << x;\n"),
    (
        "python",
        "    ‸\n    mu.lock()\n    work()\n    mu.unlock()\n",
        "a()\n    mu.unlock()\n",
        "a()\n    mu.unlock()\n",
    ),
    ("python", "    ‸\n    return 1\n", "if a:\n        return 1\n", "if a:\n        return 1\n"),
]


@pytest.mark.parametrize(("language", "source", "answer", "expected"), CASES)
def test_a_line_that_follows_is_not_written(
    clean: Callable[..., str], language: str, source: str, answer: str, expected: str
) -> None:
    assert clean(language, source, answer, stops_before_below) == expected


def test_the_table_is_complete() -> None:
    assert len(CASES) == 17
