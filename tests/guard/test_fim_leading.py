"""Golden cases of `leading`: no blank too many at the start of an answer."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from codex.guard.fim.context import FimContext
from codex.guard.fim.leading import superfluous_start
from codex.guard.language import detect

CASES = [
    ("python", "total = ‸\n", " price * count", "price * count"),
    ("python", "total =‸\n", " price * count", " price * count"),
    ("python", "def area(self):\n    ‸\n", "    return self.w * self.h", "return self.w * self.h"),
    ("python", "def area(self):\n‸\n", "    return self.w * self.h", "    return self.w * self.h"),
    ("python", "if ready:\n‸", "    start()\n", "    start()\n"),
    ("python", "    if ready:\n    ‸\n", "    start()", "    start()"),
    ("python", "x = 1\n    ‸\n", "\n    y = 2", "y = 2"),
    ("python", "    x = 1\n  ‸\n", "  y = 2", "  y = 2"),
    ("javascript", "const name = ‸;\n", "  user.name", "user.name"),
    ("javascript", "function f() {\n  ‸\n}\n", "  return 1;", "return 1;"),
    ("typescript", "  load(id: ‸) {}\n", " string", "string"),
    ("java", "        int sum = ‸\n", "\t0;", "0;"),
    ("go", "func main() {\n\t‸\n}\n", "\tfmt.Println(1)", "fmt.Println(1)"),
    ("rust", "    let n = ‸;\n", " items.len()", "items.len()"),
    ("cpp", "    std::cout << ‸;\n", " value", "value"),
    ("python", 's = "a ‸"\n', " b", " b"),
    ("python", "    x = 1\n    ‸", "\n\n    y = 2", "\n\n    y = 2"),
]


@pytest.mark.parametrize(("language", "source", "answer", "expected"), CASES)
def test_the_start_repeats_no_blank(language: str, source: str, answer: str, expected: str) -> None:
    prefix, suffix = source.split("‸")
    ctx = FimContext.around(prefix, suffix, detect(language, None))
    for length in range(len(answer)):
        drop = superfluous_start(answer[:length], ctx, False)
        assert drop is None or answer[drop:] == expected
    dropped = superfluous_start(answer, ctx, True)
    assert dropped is not None
    assert answer[dropped:] == expected


def test_the_table_is_complete() -> None:
    assert len(CASES) == 17


def test_the_chain_begins_with_it(clean: Callable[..., str]) -> None:
    assert clean("python", "total = ‸\n", " 1 + 1") == "1 + 1"
