"""Golden cases of `scope`: braces show where a scope ends."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from codex.guard.fim.scope import stops_at_scope_end

# Language, source with the cursor at ‸, what the model wrote, what is left of it.
CASES = [
    (
        "javascript",
        "function f() {\n  ‸\n",
        "return 1;\n}\n\nfunction g() {\n  return 2;\n}\n",
        "return 1;\n}",
    ),
    ("javascript", "function f(‸\n", "a) {\n  return a;\n}\n\nconsole.log(f(1));\n", "a) {\n  return a;\n}"),
    (
        "javascript",
        "  if (a) {\n    ‸\n",
        "b();\n  } else {\n    c();\n  }\n  d();\n",
        "b();\n  } else {\n    c();\n  }",
    ),
    (
        "javascript",
        "‸\n",
        "const f = (a) => {\n  return a;\n};\n\nconst g = 1;\n",
        "const f = (a) => {\n  return a;\n};",
    ),
    (
        "javascript",
        "  for (const x of xs) ‸\n",
        "{\n    use(x);\n  }\n  return xs;\n",
        "{\n    use(x);\n  }\n  return xs;\n",
    ),
    (
        "typescript",
        "export class A {\n  ‸\n",
        "a(): void {\n    go();\n  }\n\n  b(): void {\n    go();\n  }\n}\n",
        "a(): void {\n    go();\n  }",
    ),
    ("typescript", "interface A {\n  ‸\n", "name: string;\n}\n\ninterface B {\n", "name: string;\n}"),
    (
        "java",
        "    public int size() ‸\n",
        "{\n        return n;\n    }\n\n    public void clear() {\n        n = 0;\n    }\n",
        "{\n        return n;\n    }",
    ),
    (
        "java",
        "        try {\n            ‸\n",
        "go();\n        } catch (IOException e) {\n            stop();\n        }\n        x();\n",
        "go();\n        } catch (IOException e) {\n            stop();\n        }",
    ),
    ("go", "func f() int {\n\t‸\n", "return 1\n}\n\nfunc g() int {\n\treturn 2\n}\n", "return 1\n}"),
    ("go", "\tif err != nil {\n\t\t‸\n", "return err\n\t}\n\tuse(x)\n", "return err\n\t}"),
    (
        "rust",
        "impl A {\n    ‸\n",
        "fn a(&self) -> u8 {\n        1\n    }\n\n    fn b(&self) -> u8 {\n        2\n    }\n",
        "fn a(&self) -> u8 {\n        1\n    }",
    ),
    (
        "rust",
        "    match x {\n        ‸\n",
        "Some(v) => v,\n        None => 0,\n    }\n}\n\nfn g() {}\n",
        "Some(v) => v,\n        None => 0,\n    }\n}",
    ),
    ("cpp", "int f(‸)\n", "int a) {\n    return a;\n}\n\nint main() {\n", "int a) {\n    return a;\n}"),
    (
        "cpp",
        "    ‸\n",
        "int a = 1;\n    int b = 2;\n    use(a, b);\n",
        "int a = 1;\n    int b = 2;\n    use(a, b);\n",
    ),
    ("c", "struct point {\n    ‸\n", "int x;\n    int y;\n};\n\nvoid f(void) {\n", "int x;\n    int y;\n};"),
]


@pytest.mark.parametrize(("language", "source", "answer", "expected"), CASES)
def test_the_scope_ends_where_braces_say(
    clean: Callable[..., str], language: str, source: str, answer: str, expected: str
) -> None:
    assert clean(language, source, answer, stops_at_scope_end) == expected


def test_the_table_is_complete() -> None:
    assert len(CASES) == 16
