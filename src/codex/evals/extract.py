"""From an answer to a program: the fenced block, the function and what it needs. Knows no data set.

Pure functions of the text, so that the same answer always gives the same program and the same stop.
"""

from __future__ import annotations

import ast
import re
import warnings
from dataclasses import dataclass

_FENCE = re.compile(r"^[ \t]{0,3}(`{3,}|~{3,})[^\n`]*$", re.MULTILINE)
_ENDS_CODE = re.compile(r"^(?:print\(|assert\b|if __name__|def main\(|#|```|\"\"\"|'''|<\|)", re.MULTILINE)
_DEFINES = ("def ", "class ", "async def ", "import ", "from ", "@")
_TOP_LEVEL = re.compile(r"^[^\s)\]}]", re.MULTILINE)


def as_it_stands(answer: str) -> str:
    """What a person would paste: the first fenced block, or all of it where there is none."""
    blocks = fenced_blocks(answer)
    return blocks[0] if blocks else answer


def fenced_blocks(text: str) -> list[str]:
    """Contents of the Markdown fences, in order; the last one may be open."""
    blocks: list[str] = []
    fence, start = "", 0
    for found in _FENCE.finditer(text):
        if not fence:
            fence, start = found[1], found.end() + 1
        elif found[0].strip().startswith(fence) and found[0].strip().strip(fence[0]) == "":
            blocks.append(text[start : max(start, found.start() - 1)] + "\n")
            fence = ""
    if fence:
        blocks.append(text[start:])
    return blocks


def program(answer: str, entry_point: str, prompt: str = "") -> str:
    """The structural extraction: `entry_point` with the definitions and imports that it needs.

    The block that defines it is taken, as far as it parses; calls, prints and tests at top level fall away.
    What `prompt` gave before the function (imports, helpers) stands above it, since the answer may rely on
    it. Empty when no such function is there.
    """
    blocks = [block for block in (*fenced_blocks(answer), answer) if _defines(block, entry_point)]
    if not blocks:
        return ""
    module = parsed_head(blocks[0])
    body = _needed(module, entry_point)
    if not body:
        return ""
    given = [node for node in parsed_head(prompt).body if _is_given(node, entry_point, body)]
    said = {ast.dump(node) for node in given}
    return ast.unparse(
        ast.Module(_futures_first([*given, *(node for node in body if ast.dump(node) not in said)]), [])
    )


def continued(prompt: str, answer: str, entry_point: str) -> str:
    """The structural extraction of a continued function: the prompt and the answer below it.

    The prompt's helpers stay even where the answer calls none of them, because HumanEval's tests do.
    """
    return program(prompt + answer, entry_point, prompt)


def _defines(text: str, name: str) -> bool:
    return re.search(rf"^(?:async\s+)?def\s+{re.escape(name)}\b", text, re.MULTILINE) is not None


def parse_quietly(text: str) -> ast.Module:
    """`ast.parse` without the parser's warnings about a stranger's backslashes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text)


def parsed_head(text: str) -> ast.Module:
    """The longest run of lines from the top that parses; an empty module when none does."""
    lines = text.replace("\r\n", "\n").split("\n")
    for end in range(len(lines), 0, -1):
        try:
            return parse_quietly("\n".join(lines[:end]))
        except (SyntaxError, ValueError, RecursionError):
            continue
    return ast.Module([], [])


def _needed(module: ast.Module, entry_point: str) -> list[ast.stmt]:
    """Imports, and the definitions that the entry point reaches; the last definition of a name wins."""
    imports = [node for node in module.body if isinstance(node, ast.Import | ast.ImportFrom)]
    named: dict[str, list[ast.stmt]] = {}
    for node in module.body:
        for name in _names(node):
            named.setdefault(name, []).append(node)
    if not any(
        isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) for node in named.get(entry_point, [])
    ):
        return []
    reached, waiting = set[str](), [entry_point]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += [used for node in named.get(name, []) for used in _used(node) if used in named]
    kept = {id(node) for name in reached for node in named.get(name, [])} | {id(node) for node in imports}
    return [node for node in module.body if id(node) in kept]


def _names(node: ast.stmt) -> list[str]:
    """Names that a top-level statement defines, imports aside."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, ast.AnnAssign | ast.AugAssign):
        targets = [node.target]
    return [inner.id for target in targets for inner in ast.walk(target) if isinstance(inner, ast.Name)]


def _used(node: ast.stmt) -> set[str]:
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}


def _is_given(node: ast.stmt, entry_point: str, body: list[ast.stmt]) -> bool:
    """Something of the prompt that the answer did not define itself."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        return True
    own = {name for statement in body for name in _names(statement)}
    names = _names(node)
    return bool(names) and entry_point not in names and not own.intersection(names)


def _futures_first(nodes: list[ast.stmt]) -> list[ast.stmt]:
    return sorted(
        nodes, key=lambda node: not (isinstance(node, ast.ImportFrom) and node.module == "__future__")
    )


def begun_end(answer: str) -> int | None:
    """As `continuation_end`, but definitions and imports may follow: a conversation puts helpers below."""
    start = answer.find("\n") + 1 if "\n" in answer else len(answer)
    for found in _TOP_LEVEL.finditer(answer, start):
        line, whole, _ = answer[found.start() :].partition("\n")
        if not any(line.startswith(word) or (not whole and word.startswith(line)) for word in _DEFINES):
            return found.start()
    return None


def continuation_end(answer: str) -> int | None:
    """Where a continuation of a function body leaves the function: the first line at column 0, a comment too.

    None while it is still inside. The first line is the body's own, whatever its column.
    """
    start = answer.find("\n") + 1 if "\n" in answer else len(answer)
    found = _TOP_LEVEL.search(answer, start)
    return found.start() if found else None


@dataclass(frozen=True, slots=True)
class CodeEnd:
    """Finds where an answer has said what is asked: its block is closed, or tests and prints begin."""

    entry_point: str

    def __call__(self, answer: str) -> int | None:
        """Characters of the answer to keep, None while it goes on. The last, growing line is not judged."""
        whole = answer[: answer.rfind("\n") + 1]
        opened = re.search(rf"^(?:async\s+)?def\s+{re.escape(self.entry_point)}\b", whole, re.MULTILINE)
        if opened is None:
            return None
        for found in _ENDS_CODE.finditer(whole, opened.end()):
            if found[0] == "```" or _parses(whole[opened.start() : found.start()]):
                return found.start()
        return None


def _parses(text: str) -> bool:
    """False inside a string that spans lines, where a line at column 0 means nothing."""
    try:
        parse_quietly(text)
    except (SyntaxError, ValueError, RecursionError):
        return False
    return True
