"""Golden cases of `unreachable`: the code below stays reachable."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from codex.guard.fim.unreachable import leaves_code_reachable

# Language, source with the cursor at ‸, what the model wrote, what is left of it.
CASES = [
    (
        "python",
        "    s = clean(s)‸    return s\n",
        "\n    t = s[::-1]\n    return s == t\n",
        "\n    t = s[::-1]",
    ),
    (
        "python",
        "    ‸\n    if b:\n        pass\n",
        "if a:\n        return False\n    return True\n",
        "if a:\n        return False",
    ),
    ("python", "    ‸\n    if b:\n        pass\n", "return True", "return True"),
    (
        "python",
        "    for x in xs:\n        ‸\n    return 0\n",
        "if x:\n            return x\n        return 1",
        "if x:\n            return x\n        return 1",
    ),
    ("python", "    for x in xs:\n        ‸\n        log(x)\n", "y = x\n        continue\n", "y = x"),
    ("python", "    ‸\n    done()\n", "a()\n    returned = 1\n", "a()\n    returned = 1\n"),
    ("python", "    ‸\n    done()\n", 'x = """\n    return 1\n    """\n', 'x = """\n    return 1\n    """\n'),
    ("python", "    ‸\n", "a()\n    return 1", "a()\n    return 1"),
    ("javascript", "  ‸\n  save(x);\n}\n", "const x = 1;\n  return x;\n", "const x = 1;"),
    ("javascript", "    ‸\n    case 2:\n", "go();\n    break;\n", "go();\n    break;\n"),
    (
        "typescript",
        "  ‸\n  this.go();\n}\n",
        "if (!a) {\n    return;\n  }\n",
        "if (!a) {\n    return;\n  }\n",
    ),
    (
        "java",
        "        ‸\n        close();\n    }\n",
        "open();\n        throw new IOException();\n",
        "open();",
    ),
    ("go", "\t‸\n\tuse(x)\n}\n", "x := 1\n\treturn x\n", "x := 1"),
    ("rust", "    ‸\n    Ok(x)\n}\n", "let x = 1;\n    return Err(e);\n", "let x = 1;"),
    ("cpp", "    ‸\n}\n", "a();\n    return;\n", "a();\n    return;\n"),
    ("cpp", "    ‸\n    b();\n}\n", "a();\n    return;\n", "a();"),
]


@pytest.mark.parametrize(("language", "source", "answer", "expected"), CASES)
def test_code_below_stays_reachable(
    clean: Callable[..., str], language: str, source: str, answer: str, expected: str
) -> None:
    assert clean(language, source, answer, leaves_code_reachable) == expected


def test_the_table_is_complete() -> None:
    assert len(CASES) == 16
