"""The prompt of a conversation, in ChatML as Qwen2.5 writes it."""

from __future__ import annotations

from codex.errors import RequestError
from codex.prompt.budget import room_for_prompt, too_long
from codex.prompt.encode import count, encode_head
from codex.prompt.template import Template
from codex.types import ChatInput, Message, Prompt, Request, Tokenizer

DEFAULT_SYSTEM = "You are Qwen, created by Alibaba Cloud. You are a helpful assistant."
"""What the model's own template writes when a conversation brings no system message; it was tuned with it."""

_HINT = "shorten the messages, lower max_tokens, or send `truncate: true` to leave out the oldest turns"
_HINT_TRUNCATED = "the system message and the last user turn are never cut: shorten them, or lower max_tokens"


def chat_prompt(request: Request, source: ChatInput, tokenizer: Tokenizer, context_length: int) -> Prompt:
    """System messages, then as many of the newest turns as fit, then the opening of the answer.

    Raises:
        RequestError: there is no message.
        ContextLengthExceeded: it does not fit, not even shortened where the request allows that.
    """
    if not source.messages:
        raise RequestError("a conversation needs at least one message", param="messages")
    template = Template.of(tokenizer)
    room = room_for_prompt(context_length, request.sampling.max_tokens)
    system, turns = _turns(source.messages)
    opening = _encode(template, tokenizer, system, room)
    answer = [template.im_start, *tokenizer.encode("assistant\n")]
    kept, used = _newest(template, tokenizer, turns, room - len(opening) - len(answer), room)
    dropped = turns[: len(turns) - len(kept)]
    if used > room - len(opening) - len(answer) or (dropped and not (request.truncate and kept)):
        needed = _count(tokenizer, [system, *turns]) + len(answer)
        hint = _HINT_TRUNCATED if request.truncate else _HINT
        raise too_long(needed, room, request.sampling.max_tokens, param="messages", hint=hint)
    tokens = (*opening, *(token for turn in kept for token in turn), *answer)
    return Prompt(tokens, template.chat_stops, _count(tokenizer, dropped))


def _newest(
    template: Template, tokenizer: Tokenizer, turns: list[list[Message]], free: int, room: int
) -> tuple[list[list[int]], int]:
    """The newest turns that fit into `free` tokens, encoded and in order, and how many tokens they take."""
    kept: list[list[int]] = []
    used = 0
    for turn in reversed(turns):
        body = _encode(template, tokenizer, turn, room)
        if used + len(body) > free:
            break
        kept.insert(0, body)
        used += len(body)
    return kept, used


def _turns(messages: tuple[Message, ...]) -> tuple[list[Message], list[list[Message]]]:
    """The leading system messages (or the default one); the rest in groups that each start with a user."""
    leading = 0
    while leading < len(messages) and messages[leading].role == "system":
        leading += 1
    system = list(messages[:leading]) or [Message("system", DEFAULT_SYSTEM)]
    turns: list[list[Message]] = []
    for message in messages[leading:]:
        if message.role == "user" or not turns:
            turns.append([])
        turns[-1].append(message)
    return system, turns


def _encode(template: Template, tokenizer: Tokenizer, messages: list[Message], room: int) -> list[int]:
    """`room` + 1 tokens of a longer message are enough to see that it does not fit."""
    tokens: list[int] = []
    for message in messages:
        body = encode_head(tokenizer, _written(message), room + 1).tokens
        tokens += [template.im_start, *body, template.im_end, *tokenizer.encode("\n")]
    return tokens


def _count(tokenizer: Tokenizer, turns: list[list[Message]]) -> int:
    """Tokens of `turns`; each message has three of its own: start, end, line end."""
    return sum(count(tokenizer, _written(message)) + 3 for turn in turns for message in turn)


def _written(message: Message) -> str:
    return f"{message.role}\n{message.content}"
