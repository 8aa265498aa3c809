"""Golden cases of `above`: an answer that copies the lines above it is empty."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from codex.guard.fim.above import repeats_above

# Language, source with the cursor at ‸, what the model wrote, what is left of it.
CASES = [
    ("python", "self.total = compute(items)\n‸\n", "self.total = compute(items)\nprint(1)", ""),
    (
        "python",
        "self.total = compute(items)\n‸\n",
        "self.total = compute(other)",
        "self.total = compute(other)",
    ),
    ("python", "    x = foo(a)\n    x = ‸\n", "foo(a)", ""),
    ("python", "    self.a = None\n    self.b = ‸\n", "None", "None"),
    ("python", "import os\n‸\n", "import sys\n", "import sys\n"),
    ("python", "if a:\n    return False\nif b:‸\n", "\n    return False", "\n    return False"),
    ("python", '    logger.info("start")‸\n', '\n    logger.info("start")\n', ""),
    ("javascript", "  const a = load(x);\n  ‸\n", "const a = load(x);", ""),
    ("javascript", "  }\n  ‸\n", "}", "}"),
    (
        "javascript",
        "const a = 1;\nconst b = 2;\nconst c = 3;\n‸",
        "const a = 1;\nconst b = 2;\nconst c = 3;\n",
        "",
    ),
    (
        "javascript",
        "const a = 1;\nconst b = 2;\nconst c = 3;\n‸",
        "const a = 1;\nconst b = 2;\nconst d = 3;\n",
        "const a = 1;\nconst b = 2;\nconst d = 3;\n",
    ),
    ("java", "    private final int width;\n    ‸\n", "private final int width;", ""),
    (
        "java",
        "    private final int width;\n    ‸\n",
        "private final int height;",
        "private final int height;",
    ),
    ("go", "\tdefer mu.Unlock()\n\t‸\n", "defer  mu.Unlock()\n", ""),
    ("rust", "    continue;\n    ‸\n", "continue;", "continue;"),
    ("cpp", "    i++;\n    ‸\n", "i++;", "i++;"),
    ("python", "x = foo(\n    a,\n    ‸\n", "a,\n    b", "a,\n    b"),
]


@pytest.mark.parametrize(("language", "source", "answer", "expected"), CASES)
def test_a_copy_of_what_stands_above_is_dropped(
    clean: Callable[..., str], language: str, source: str, answer: str, expected: str
) -> None:
    assert clean(language, source, answer, repeats_above) == expected


def test_the_table_is_complete() -> None:
    assert len(CASES) == 17
