"""Which language a request is in: by its name, its path, or the look of its text. Knows no parser."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePosixPath


class Family(StrEnum):
    """How blocks are written. `PLAIN` is what we know nothing about."""

    INDENT = "indent"
    BRACES = "braces"
    PLAIN = "plain"


@dataclass(frozen=True, slots=True)
class Language:
    name: str
    family: Family


_INDENT = ("python", "yaml", "nim")
_BRACES = (
    *("javascript", "typescript", "tsx", "java", "go", "rust", "c", "cpp", "csharp", "kotlin", "swift"),
    *("php", "scala", "dart", "css", "json"),
)
_ALIASES = {
    "py": "python",
    "python3": "python",
    "pyi": "python",
    "yml": "yaml",
    "js": "javascript",
    "jsx": "javascript",
    "mjs": "javascript",
    "cjs": "javascript",
    "javascriptreact": "javascript",
    "node": "javascript",
    "ts": "typescript",
    "mts": "typescript",
    "cts": "typescript",
    "typescriptreact": "tsx",
    "golang": "go",
    "rs": "rust",
    "h": "c",
    "c++": "cpp",
    "cc": "cpp",
    "cxx": "cpp",
    "hpp": "cpp",
    "hh": "cpp",
    "cs": "csharp",
    "c#": "csharp",
    "kt": "kotlin",
    "kts": "kotlin",
    "sc": "scala",
    "scss": "css",
    "jsonc": "json",
}

PLAIN = Language("unknown", Family.PLAIN)
LANGUAGES = {name: Language(name, Family.INDENT) for name in _INDENT} | {
    name: Language(name, Family.BRACES) for name in _BRACES
}

_PYTHON_LINE = re.compile(
    r"^[ \t]*(?:(?:async )?(?:def|with|for) .*:|class \w+.*:|(?:el)?if .*:|else:|try:|except.*:|while .*:"
    r"|from [\w.]+ import .*|import [\w.]+(?: as \w+)?|@[\w.]+.*|\"\"\".*)[ \t]*$",
    re.MULTILINE,
)
_BRACE_LINE = re.compile(r"[{};][ \t]*\r?$|^[ \t]*//", re.MULTILINE)
_LOOK_CHARS = 4096


def detect(name: str | None, path: str | None, prefix: str = "", suffix: str = "") -> Language:
    """The language called `name`, else that of the extension of `path`, else a guess from the text."""
    extension = PurePosixPath(path).suffix.lstrip(".") if path else ""
    for word in (name, extension):
        key = (word or "").strip().lower()
        known = LANGUAGES.get(_ALIASES.get(key, key))
        if known:
            return known
    return PLAIN if name or extension else _guess(prefix[-_LOOK_CHARS:] + suffix[:_LOOK_CHARS])


def _guess(text: str) -> Language:
    python = len(_PYTHON_LINE.findall(text))
    braces = len(_BRACE_LINE.findall(text))
    if python > braces:
        return LANGUAGES["python"]
    # Which of the brace languages it is cannot be told for sure, and a wrong grammar is worse than none.
    return Language("unknown", Family.BRACES) if braces > 1 else PLAIN
