"""What the passes know of the place where an answer goes, computed once a request. Knows no answer."""

from __future__ import annotations

from dataclasses import dataclass

from codex.guard.fim.brackets_needed import Bracket, needed, unclosed, unopened
from codex.guard.fim.lexer import Scan, scan
from codex.guard.fim.lines import indent_of
from codex.guard.language import Language, detect
from codex.types import FimInput, Request

WINDOW_CHARS = 32_768
"""How much is read on each side of the cursor, so that a huge file costs no time. Starts at a line start."""

LINES_KEPT = 40


@dataclass(frozen=True, slots=True)
class FimContext:
    """The surroundings of the cursor.

    `before` and `rest` are the parts of the cursor's line left and right of it. `above` are the visible
    lines before that line, `below` those after it, nearest first. `openers` are the brackets open at the
    cursor, `needed` the closing ones that an answer has to bring, innermost first; None: unknown. `inside`:
    the end of the string or comment that the cursor is in. `statement`: the line where the statement at the
    cursor begins.
    """

    prefix: str
    suffix: str
    language: Language
    single_line: bool
    before: str
    rest: str
    above: tuple[str, ...]
    below: tuple[str, ...]
    openers: tuple[Bracket, ...]
    needed: tuple[str, ...] | None
    inside: str | None
    statement: str

    @classmethod
    def of(cls, request: Request, source: FimInput) -> FimContext:
        language = detect(request.language, source.path, source.prefix, source.suffix)
        return cls.around(source.prefix, source.suffix, language, single_line=request.single_line)

    @classmethod
    def around(cls, prefix: str, suffix: str, language: Language, *, single_line: bool = False) -> FimContext:
        prefix, suffix = _window_end(prefix), suffix[:WINDOW_CHARS]
        scanned = scan(prefix, language)
        inside = scanned.open.ends if scanned.open else None
        openers = unclosed(prefix, scanned)
        *above, before = prefix.split("\n")[-LINES_KEPT:]
        rest, *below = suffix.split("\n", LINES_KEPT)
        own_line = not before.strip() or _is_own_line(before, rest)
        after = before + suffix if not before.strip() else suffix
        closers = unopened(after, scan(after, language, inside), 0 if own_line else len(rest))
        return cls(
            prefix=prefix,
            suffix=suffix,
            language=language,
            single_line=single_line,
            before=before,
            rest=rest.rstrip("\r"),
            above=tuple(line for line in reversed(above) if line.strip()),
            below=tuple(line for line in below[: LINES_KEPT - 1] if line.strip()),
            openers=openers,
            needed=needed(openers, closers),
            inside=inside,
            statement=_statement(prefix, before, scanned, openers),
        )

    @property
    def on_blank(self) -> bool:
        """Whether nothing visible stands left of the cursor on its line."""
        return not self.before.strip()

    @property
    def column(self) -> int:
        """Indentation of the cursor's line."""
        return indent_of(self.before)

    def scan(self, text: str) -> Scan:
        """Reads an answer from the state that the cursor is in."""
        return scan(text, self.language, self.inside, self.before[-8:])


def _window_end(prefix: str) -> str:
    if len(prefix) <= WINDOW_CHARS:
        return prefix
    start = prefix.find("\n", len(prefix) - WINDOW_CHARS) + 1
    return prefix[start or len(prefix) - WINDOW_CHARS :]


def _statement(prefix: str, before: str, scanned: Scan, openers: tuple[Bracket, ...]) -> str:
    """The line of the first bracket or of the string that stands open; the cursor's line where none does.

    Braces of a block are no part of a statement: only what follows the innermost of them counts.
    """
    outer = [opener.offset for opener in openers]
    for index in range(len(openers) - 1, -1, -1):
        if openers[index].char == "{" and prefix[openers[index].offset :].split("\n", 1)[0].rstrip() == "{":
            outer = outer[index + 1 :]
            break
    if scanned.open and scanned.open.ends != "\n":
        outer.append(scanned.open.at)
    if not outer:
        return before
    start = prefix.rfind("\n", 0, outer[0]) + 1
    return prefix[start:].split("\n", 1)[0]


def steps_below(ctx: FimContext) -> list[tuple[int, str]]:
    """(indentation, text) of the visible lines after the cursor that belong to the blocks around it.

    Those are the next line and each that is indented no more than all before it. The rest of the cursor's
    line is one of them where it is a line of its own: the cursor stands at its start, or a client has dropped
    the line break between a complete line and the indented rest.
    """
    lines = [(indent_of(line), line) for line in ctx.below]
    if ctx.rest.strip():
        own = ctx.on_blank or is_own_line(ctx)
        lines.insert(0, (indent_of(ctx.rest) + (ctx.column if ctx.on_blank else 0), ctx.rest if own else ""))
    steps: list[tuple[int, str]] = []
    for indent, line in lines:
        if line and (not steps or indent <= steps[-1][0]):
            steps.append((indent, line))
    return steps if not lines or lines[0][1] else steps[:0]


def is_own_line(ctx: FimContext) -> bool:
    """Whether the rest of the cursor's line, by its indentation, is the line after the cursor's."""
    return not ctx.on_blank and _is_own_line(ctx.before, ctx.rest)


def _is_own_line(before: str, rest: str) -> bool:
    return rest.startswith(("  ", "\t")) and not before.endswith((" ", "\t"))
