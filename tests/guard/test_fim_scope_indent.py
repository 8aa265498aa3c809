"""Golden cases of `scope`: indentation shows where a scope ends."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from codex.guard.fim.scope import stops_at_scope_end

# Language, source with the cursor at ‸, what the model wrote, what is left of it.
CASES = [
    ("python", "def f():‸\n", "\n    return 1\n\ndef g():\n    return 2\n", "\n    return 1"),
    ("python", "def f():\n    ‸\n", "return 1\n\nprint(f())\n", "return 1"),
    ("python", '    """Doc."""\n‸', "    return x\n\n# Check the function\ndef check():\n", "    return x"),
    (
        "python",
        "class A:\n    def a(self):\n        ‸\n",
        "return 1\n\n    def b(self):\n        return 2\n",
        "return 1",
    ),
    (
        "python",
        "class A:\n    def a(self):‸\n",
        "\n        return 1\n\n    def b(self):\n        return 2\n",
        "\n        return 1",
    ),
    (
        "python",
        "    for x in xs:‸\n",
        "\n        use(x)\n    return xs\n",
        "\n        use(x)\n    return xs\n",
    ),
    (
        "python",
        "    if a:‸\n",
        "\n        b()\n    else:\n        c()\n",
        "\n        b()\n    else:\n        c()\n",
    ),
    ("python", "    try:\n        ‸\n", "a()\n    except ValueError:\n        b()\n", "a()"),
    ("python", "    x = foo(\n        ‸\n", "a,\n    )\n    y = 2\n", "a,\n    )\n    y = 2\n"),
    ("python", '    x = """\n‸', 'text\n"""\n    y = 1\nz = 2\n', 'text\n"""\n    y = 1'),
    ("python", "@cache\n‸\n", "def f():\n    return 1\n\ndef g():\n    return 2\n", "def f():\n    return 1"),
    ("python", "‸\n", "import os\nimport sys\n\nx = 1\n", "import os\nimport sys\n\nx = 1\n"),
    ("python", "‸\n", "def f():\n    return 1\n\n\nclass B:\n    pass\n", "def f():\n    return 1"),
    (
        "python",
        "            count -= 1‸\n",
        "\n    return count == 0\n\n# Check\n",
        "\n    return count == 0",
    ),
    ("python", "def f(‸\n", "a, b):\n    return a\n\nf(1, 2)\n", "a, b):\n    return a"),
    (
        "python",
        "def f():\n    ‸\n",
        "x = 1\n\n    y = 2\n    # note\n    return x\n",
        "x = 1\n\n    y = 2\n    # note\n    return x\n",
    ),
    ("python", "if x:\n    pass\n‸\n", "elif y:\n    a()\n\ndef g():\n", "elif y:\n    a()"),
]


@pytest.mark.parametrize(("language", "source", "answer", "expected"), CASES)
def test_the_scope_ends_where_indentation_says(
    clean: Callable[..., str], language: str, source: str, answer: str, expected: str
) -> None:
    assert clean(language, source, answer, stops_at_scope_end) == expected


def test_the_table_is_complete() -> None:
    assert len(CASES) == 17
