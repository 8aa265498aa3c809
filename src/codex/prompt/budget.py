"""What fits into the model's window, and how a piece is shortened. Knows token counts, no template."""

from __future__ import annotations

from codex.errors import ContextLengthExceeded
from codex.types import Tokenizer

LINE_SEARCH_SHARE = 4
"""A cut may move to a line start while that costs at most one token in this many."""


def room_for_prompt(context_length: int, max_tokens: int) -> int:
    """Tokens that a prompt may have.

    Raises:
        ContextLengthExceeded: `max_tokens` leaves no room at all.
    """
    if max_tokens >= context_length:
        raise ContextLengthExceeded(
            f"max_tokens is {max_tokens}, but prompt and answer share the model's window of {context_length} "
            "tokens: ask for fewer",
            param="max_tokens",
        )
    return context_length - max_tokens


def too_long(needed: int, room: int, max_tokens: int, *, param: str, hint: str) -> ContextLengthExceeded:
    """The error for a prompt of `needed` tokens where `room` would fit."""
    return ContextLengthExceeded(
        f"the prompt has {needed} tokens, but only {room} fit beside max_tokens {max_tokens} in the model's "
        f"window of {room + max_tokens}: {hint}",
        param=param,
    )


SHORTEN_OR_TRUNCATE = "shorten it, lower max_tokens, or send `truncate: true`"


def share(prefix: int, suffix: int, room: int) -> tuple[int, int]:
    """Splits `room` 3:1 between a prefix and a suffix of so many tokens; what one leaves the other gets."""
    for_prefix = min(prefix, max(room * 3 // 4, room - suffix))
    return for_prefix, min(suffix, room - for_prefix)


def keep_end(tokenizer: Tokenizer, tokens: tuple[int, ...], limit: int) -> tuple[int, ...]:
    """The last `limit` tokens or a few less: from a line start if one is near, never inside a character."""
    if len(tokens) <= limit:
        return tokens
    start = len(tokens) - limit
    for index in range(start, min(len(tokens), start + limit // LINE_SEARCH_SHARE)):
        if tokenizer.token_bytes(tokens[index - 1]).endswith(b"\n"):
            return tokens[index:]
    while start < len(tokens) and _continues_character(tokenizer.token_bytes(tokens[start])):
        start += 1
    return tokens[start:]


def keep_start(tokenizer: Tokenizer, tokens: tuple[int, ...], limit: int) -> tuple[int, ...]:
    """The first `limit` tokens or a few less: to a line end if one is near, never to inside a character."""
    if len(tokens) <= limit:
        return tokens
    for index in range(limit, max(0, limit - limit // LINE_SEARCH_SHARE), -1):
        if tokenizer.token_bytes(tokens[index - 1]).endswith(b"\n"):
            return tokens[:index]
    end = limit
    while end > 0 and _continues_character(tokenizer.token_bytes(tokens[end])):
        end -= 1
    return tokens[:end]


def _continues_character(data: bytes) -> bool:
    return bool(data) and data[0] & 0xC0 == 0x80
