"""Golden cases of `loops`: an answer that goes round in circles ends after the first round."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from codex.guard.fim.loops import stops_at_loops

# Language, source with the cursor at ‸, what the model wrote, what is left of it.
CASES = [
    ("python", "‸", "a.append(1)\n" * 4, "a.append(1)"),
    ("python", "‸", "a.append(1)\n" * 2 + "b()\n", "a.append(1)\n" * 2 + "b()\n"),
    ("python", "‸", "a.append(1)\nb.append(2)\n" * 4, "a.append(1)\nb.append(2)"),
    ("python", "‸", "x = 1\n" + "assert f(1) == 1\n" * 5, "x = 1\nassert f(1) == 1"),
    ("python", "‸", "0,\n" * 6, "0,\n" * 6),
    ("python", "‸", "a.append(1)\n" * 2 + "a.app", "a.append(1)"),
    ("python", "‸", "a.append(1)\n" * 2, "a.append(1)\n" * 2),
    ("python", "‸", "# " + "=" * 150 + "\nx = 1", "# " + "=" * 150 + "\nx = 1"),
    ("python", 'x = "‸', "abc " * 60, "abc " * 30),
    ("javascript", "‸", "if (a) {\n  go();\n}\n" * 3, "if (a) {\n  go();\n}"),
    ("javascript", "‸", "case 1:\n  go();\ncase 2:\n  go();\n", "case 1:\n  go();\ncase 2:\n  go();\n"),
    ("java", "‸", "sb.append(x);\n\n" * 4, "sb.append(x);"),
    ("go", "‸", "fmt.Println(a)\n" * 3, "fmt.Println(a)"),
    ("rust", "‸", "}\n" * 4, "}\n" * 4),
    ("cpp", "int a[] = {‸", "1, 2, " * 30, "1, 2, " * 20),
]


@pytest.mark.parametrize(("language", "source", "answer", "expected"), CASES)
def test_circles_end_after_the_first_round(
    clean: Callable[..., str], language: str, source: str, answer: str, expected: str
) -> None:
    assert clean(language, source, answer, stops_at_loops) == expected


def test_the_table_is_complete() -> None:
    assert len(CASES) == 15
