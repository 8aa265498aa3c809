"""Finds brackets, strings and comments, left to right and never taking back what it said. Knows no grammar.

What it says of a text stays true whatever follows, apart from the last `LOOKAHEAD` characters.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from codex.guard.language import Family, Language

LOOKAHEAD = 3
OPENERS = {"(": ")", "[": "]", "{": "}"}
CLOSERS = frozenset(OPENERS.values())

_DOUBLE = r'"(?:\\.|[^"\\\n])*(?:"|(?=\n)|\\?\Z)'
_SINGLE = r"'(?:\\.|[^'\\\n])*(?:'|(?=\n)|\\?\Z)"
_BLOCK_COMMENT = r"/\*.*?(?:\*/|\\?\Z)"
_BACKTICK = r"`(?:\\.|[^`\\])*(?:`|\\?\Z)"
_RAW_BACKTICK = r"`[^`]*(?:`|\\?\Z)"
_REGEX_LITERAL = (
    r"(?:(?<=[(,=:\[!&|?{};])|(?<=[(,=:\[!&|?{};] )|(?<=return ))"
    r"/(?![/*])(?:\\.|\[(?:\\.|[^\]\\\n])*(?:\]|(?=\n)|\\?\Z)|[^/\\\[\n])*(?:/|(?=\n)|\\?\Z)"
)

_PYTHON = re.compile(
    r'(?P<skip>"""(?:\\.|[^\\])*?(?:"""|\\?\Z)|\'\'\'(?:\\.|[^\\])*?(?:\'\'\'|\\?\Z)'
    rf"|{_DOUBLE}|{_SINGLE}|#[^\n]*)|(?P<bracket>[()\[\]{{}}])",
    re.DOTALL,
)
_C = re.compile(
    r'(?P<skip>R"(?P<delimiter>\w*)\(.*?(?:\)(?P=delimiter)"|\\?\Z)'
    rf"|{_DOUBLE}|{_SINGLE}|//[^\n]*|{_BLOCK_COMMENT})|(?P<bracket>[()\[\]{{}}])",
    re.DOTALL,
)
_JAVA = re.compile(
    rf'(?P<skip>""".*?(?:"""|\\?\Z)|{_DOUBLE}|{_SINGLE}|//[^\n]*|{_BLOCK_COMMENT})|(?P<bracket>[()\[\]{{}}])',
    re.DOTALL,
)
_JAVASCRIPT = re.compile(
    rf"(?P<skip>{_DOUBLE}|{_SINGLE}|{_BACKTICK}|//[^\n]*|{_BLOCK_COMMENT}|{_REGEX_LITERAL})"
    r"|(?P<bracket>[()\[\]{}])",
    re.DOTALL,
)
_GO = re.compile(
    rf"(?P<skip>{_DOUBLE}|{_SINGLE}|{_RAW_BACKTICK}|//[^\n]*|{_BLOCK_COMMENT})|(?P<bracket>[()\[\]{{}}])",
    re.DOTALL,
)
# A quote in Rust may begin a lifetime, which has no closing one.
_RUST = re.compile(
    r'(?P<skip>r(?P<hashes>#*)".*?(?:"(?P=hashes)|\\?\Z)|"(?:\\.|[^"\\])*(?:"|\\?\Z)'
    rf"|'(?:\\[^\n]*?|[^'\\\n])'|//[^\n]*|{_BLOCK_COMMENT})|(?P<bracket>[()\[\]{{}}])",
    re.DOTALL,
)
_PLAIN = re.compile(rf"(?P<skip>{_DOUBLE})|(?P<bracket>[()\[\]{{}}])", re.DOTALL)

_PATTERNS = {
    "python": _PYTHON,
    "yaml": _PYTHON,
    "nim": _PYTHON,
    "javascript": _JAVASCRIPT,
    "typescript": _JAVASCRIPT,
    "tsx": _JAVASCRIPT,
    "java": _JAVA,
    "kotlin": _JAVA,
    "swift": _JAVA,
    "scala": _JAVA,
    "go": _GO,
    "rust": _RUST,
}


@dataclass(frozen=True, slots=True)
class Open:
    """The string or comment that a text ends in: how it `ends`, and the offset where it began."""

    ends: str
    at: int


@dataclass(frozen=True, slots=True)
class Scan:
    """`brackets`: (offset, character), in order. `spans`: strings and comments over several lines.

    `comments`: where line comments begin. `open` is the string or comment that the text ends in.
    """

    brackets: tuple[tuple[int, str], ...]
    spans: tuple[tuple[int, int], ...]
    comments: tuple[int, ...]
    open: Open | None

    def covered(self, offset: int) -> bool:
        """Whether `offset` lies in a string or comment that began on an earlier line."""
        return any(start < offset < end for start, end in self.spans)


def scan(text: str, language: Language, inside: str | None = None, lead: str = "") -> Scan:
    """Reads `text`, which begins in code, or inside a string or comment that ends with `inside`.

    `lead`: a few characters before `text`; they tell a division from a regular expression.
    """
    pattern = _pattern(language)
    brackets: list[tuple[int, str]] = []
    spans: list[tuple[int, int]] = []
    comments: list[int] = []
    start = 0
    if inside is not None:
        end = _end_of(text, inside)
        if end < 0:
            return Scan((), ((-1, len(text) + 1),), (), Open(inside, 0))
        spans.append((-1, end))
        start = end
    last: Open | None = None
    shift = len(lead)
    for match in pattern.finditer(lead + text, start + shift):
        if match["bracket"]:
            brackets.append((match.start() - shift, match["bracket"]))
            continue
        at, end = match.start() - shift, match.end() - shift
        last = _left_open(match[0], at) if end == len(text) else None
        if match[0].startswith(_LINE_COMMENTS):
            comments.append(at)
        if last or "\n" in match[0]:
            spans.append((at, end + 1 if last else end))
    return Scan(tuple(brackets), tuple(spans), tuple(comments), last)


def _pattern(language: Language) -> re.Pattern[str]:
    fallback = _C if language.family is Family.BRACES else _PLAIN
    return _PATTERNS.get(language.name, fallback)


def _left_open(token: str, at: int) -> Open | None:
    """What has still to come to end `token`, which reaches to the end of its text."""
    for begins, ends in _LONG:
        if token.startswith(begins):
            closed = len(token) >= len(begins) + len(ends) and token.endswith(ends)
            return None if closed else Open(ends, at)
    if token.startswith(_LINE_COMMENTS):
        return Open("\n", at)
    quote = '"' if '"' in token[:3] else token[0]
    closed = len(token) > 1 and token.endswith(quote) and not _escaped(token)
    return None if closed else Open(quote, at)


_LINE_COMMENTS = ("#", "//")
_LONG = (('"""', '"""'), ("'''", "'''"), ("/*", "*/"))


def _escaped(token: str) -> bool:
    """Whether the last character of `token` is taken literally."""
    body = token[:-1]
    return (len(body) - len(body.rstrip("\\"))) % 2 == 1


def _end_of(text: str, inside: str) -> int:
    """Offset behind the end of the string or comment that `text` begins in; -1: it does not end."""
    if inside in "\"'/" and len(inside) == 1:
        match = re.match(rf"(?:\\.|[^{inside}\\\n])*(?:{inside}|(?=\n))", text, re.DOTALL)
        return match.end() if match else -1
    found = text.find(inside)
    # A line comment ends before its newline.
    return found if found < 0 or inside == "\n" else found + len(inside)
