"""The prompt that fills in between a prefix and a suffix: file form, and repository form with context files.

Both forms are those of the Qwen2.5-Coder technical report (arXiv 2409.12186, figures 3 and 4).
"""

from __future__ import annotations

from dataclasses import dataclass

from codex.prompt.budget import SHORTEN_OR_TRUNCATE, keep_end, keep_start, room_for_prompt, share, too_long
from codex.prompt.encode import Encoded, count, encode_head, encode_tail
from codex.prompt.template import Template
from codex.types import FimInput, Prompt, Request, SourceFile, Tokenizer

UNNAMED_REPOSITORY = "workspace"
UNNAMED_FILE = "untitled"


def fim_prompt(request: Request, source: FimInput, tokenizer: Tokenizer, context_length: int) -> Prompt:
    """Shortening, where it is allowed, first leaves out context files (whole, the last first), then cuts the
    prefix at its start and the suffix at its end.

    Raises:
        ContextLengthExceeded: it does not fit and the request does not allow to shorten it, or
            `max_tokens` leaves less than a handful of tokens.
    """
    template = Template.of(tokenizer)
    max_tokens = request.sampling.max_tokens
    room = room_for_prompt(context_length, max_tokens)
    prefix = encode_tail(tokenizer, source.prefix, room)
    suffix = encode_head(tokenizer, source.suffix, room)
    cursor = prefix.total + suffix.total + 3
    opening = _opening(template, tokenizer, source, room - cursor)
    needed = opening.whole + cursor
    if needed <= room:
        return Prompt((*opening.tokens, *_file(template, prefix.tokens, suffix.tokens)), template.code_stops)
    if not request.truncate or room < 4:
        raise too_long(needed, room, max_tokens, param="prompt", hint=SHORTEN_OR_TRUNCATE)
    before, after = _shorten(tokenizer, prefix, suffix, room - len(opening.tokens) - 3)
    tokens = (*opening.tokens, *_file(template, before, after))
    left_out = opening.left_out + prefix.total - len(before) + suffix.total - len(after)
    return Prompt(tokens, template.code_stops, left_out)


@dataclass(frozen=True, slots=True)
class _Opening:
    """What stands before the current file; how many tokens of context files are `left_out` of it; what the
    `whole` would take.
    """

    tokens: tuple[int, ...]
    left_out: int
    whole: int


def _shorten(
    tokenizer: Tokenizer, prefix: Encoded, suffix: Encoded, room: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    if prefix.total + suffix.total <= room:
        return prefix.tokens, suffix.tokens
    for_prefix, for_suffix = share(prefix.total, suffix.total, room)
    return keep_end(tokenizer, prefix.tokens, for_prefix), keep_start(tokenizer, suffix.tokens, for_suffix)


def _file(template: Template, prefix: tuple[int, ...], suffix: tuple[int, ...]) -> tuple[int, ...]:
    return (template.fim_prefix, *prefix, template.fim_suffix, *suffix, template.fim_middle)


def _opening(template: Template, tokenizer: Tokenizer, source: FimInput, room: int) -> _Opening:
    """The context files that fit into `room`.

    Without a context file there is nothing to open: the file form is what the model knows best.
    """
    if not source.context:
        return _Opening((), 0, 0)
    head = (template.repo_name, *tokenizer.encode(f"{source.repository or UNNAMED_REPOSITORY}\n"))
    current = (template.file_sep, *tokenizer.encode(f"{source.path or UNNAMED_FILE}\n"))
    bodies: list[int] = []
    left_out = 0
    free = room - len(head) - len(current)
    for number, file in enumerate(source.context):
        body = encode_head(tokenizer, _written(file), max(0, free))
        if body.left_out or len(body.tokens) + 1 > free:
            rest = source.context[number:]
            left_out = count(tokenizer, "".join(map(_written, rest))) + len(rest)
            break
        bodies += [template.file_sep, *body.tokens]
        free -= len(body.tokens) + 1
    whole = len(head) + len(bodies) + left_out + len(current)
    return _Opening((*head, *bodies, *current) if bodies else (), left_out, whole)


def _written(file: SourceFile) -> str:
    """Each file separator begins a line."""
    return f"{file.path}\n{file.text}" if file.text.endswith("\n") else f"{file.path}\n{file.text}\n"
