"""Golden cases of `overlap`: what stands right of the cursor is not written again."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from codex.guard.fim.overlap import no_overlap

# Language, source with the cursor at ‸, what the model wrote, what is left of it.
CASES = [
    ("python", "print(‸)\n", "total)", "total"),
    ("python", 'print("‸")\n', 'hello")', "hello"),
    ("python", "items = [‸1, 2]\n", "0, 1, 2]", "0, "),
    ("python", "val‸ue = 3\n", "ue", ""),
    ("python", "val‸ue = 3\n", "ue = 4", ""),
    ("python", "def area(self‸):\n", ", scale=1):\n        return 1", ", scale=1"),
    ("python", "return ‸ + 1\n", "total + 1", "total "),
    ("python", "if ‸:\n", "x > 0:\n    return x", "x > 0"),
    (
        "python",
        "    while n > 0:‸        n -= 1\n",
        "\n        a, b = b, a\n        n -= 1\n",
        "\n        a, b = b, a\n",
    ),
    ("javascript", "foo(‸);\n", "a, b);", "a, b"),
    ("javascript", "if (‸) {\n  go();\n}\n", "ready) {\n  stop();\n}", "ready"),
    ("typescript", "const x: ‸ = 1;\n", "number = 1;", "number "),
    ("java", "    for (int i = 0; ‸; i++) {\n", "i < n; i++) {\n        sum += i;\n    }", "i < n"),
    ("go", "\tfmt.Println(‸)\n", '"a", b)\n\tfmt.Println(c)', '"a", b'),
    ("rust", "    let v: Vec<‸> = Vec::new();\n", "u8> = Vec::new();", "u8"),
    ("cpp", "    std::vector<‸> xs;\n", "int> xs;", "int"),
    ("python", "foo(‸)\n", "max(a, b)", "max(a, b"),
    ("python", "x = ‸\n", "foo(1)\ny = 2", "foo(1)\ny = 2"),
    ("python", "call(‸)\n", "\n    a,\n    b,\n)", "\n    a,\n    b,\n"),
    ("javascript", "const total = ‸price;\n", "sum + price;", "sum + "),
    ("python", "import nu‸mpy as np\n", "mpy as np", ""),
]


@pytest.mark.parametrize(("language", "source", "answer", "expected"), CASES)
def test_the_rest_of_the_line_is_not_written_again(
    clean: Callable[..., str], language: str, source: str, answer: str, expected: str
) -> None:
    assert clean(language, source, answer, no_overlap) == expected


def test_the_table_is_complete() -> None:
    assert len(CASES) == 21
