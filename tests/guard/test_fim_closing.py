"""Golden cases of `closing`: where brackets do not match, a closing line below is not written again."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from codex.guard.fim.closing import no_closing_line_twice

# Language, source with the cursor at ‸, what the model wrote, what is left of it.
CASES = [
    ("javascript", "[(\n  ‸\n})\n", "go();\n})\n", "go();\n"),
    ("javascript", "foo(\n  ‸\n}\n", "a,\n}\n", "a,\n"),
    ("javascript", "foo(\n  ‸\n}\n", "a,\n)\n", "a,\n)\n"),
    ("javascript", "foo([\n  ‸\n});\n", "1,\n});\n", "1,\n"),
    ("javascript", "foo(\n  ‸\n}\n", "a,\n  }\n", "a,\n  }\n"),
    ("typescript", "x = [\n  ‸\n};\n", "1,\n};", "1,\n"),
    ("java", "call(\n    ‸\n    }\n", "a\n    }\n", "a\n"),
    ("java", "call(\n    ‸\n    }\n", "a\n", "a\n"),
    ("go", "\tx := []int{(\n\t‸\n\t]\n", "1,\n\t]\n", "1,\n"),
    ("rust", "    vec![(\n    ‸\n    }\n", "1\n    }\n", "1\n"),
    ("cpp", "f(\n    ‸\n};\n", "a;\n};\nint x;", "a;\n"),
    ("python", "foo(\n    ‸\n]\n", "a\n]\n", "a\n"),
    ("python", "foo(\n    ‸\n)\n", "a\n)\n", "a\n)\n"),
]


@pytest.mark.parametrize(("language", "source", "answer", "expected"), CASES)
def test_a_closing_line_is_not_doubled(
    clean: Callable[..., str], language: str, source: str, answer: str, expected: str
) -> None:
    assert clean(language, source, answer, no_closing_line_twice) == expected


def test_the_table_is_complete() -> None:
    assert len(CASES) == 13
