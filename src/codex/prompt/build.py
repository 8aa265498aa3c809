"""The door of the room: a request becomes the prompt of its kind."""

from __future__ import annotations

from codex.prompt.chat import chat_prompt
from codex.prompt.fim import fim_prompt
from codex.prompt.text import text_prompt
from codex.types import ChatInput, FimInput, Prompt, Request, Tokenizer


def build_prompt(request: Request, *, tokenizer: Tokenizer, context_length: int) -> Prompt:
    """What the engine reads for `request`, with the ids that end its answer.

    Text from the request is encoded as plain text; only the template puts special ids. The prompt and
    `request.sampling.max_tokens` together fit into `context_length` tokens.

    Raises:
        ContextLengthExceeded: it does not fit, and `request.truncate` is off or cannot help.
        RequestError: the request holds nothing to build a prompt of, or ids outside the vocabulary.
        UnsupportedModel: the vocabulary lacks the template's special tokens.
    """
    source = request.input
    if isinstance(source, FimInput):
        return fim_prompt(request, source, tokenizer, context_length)
    if isinstance(source, ChatInput):
        return chat_prompt(request, source, tokenizer, context_length)
    return text_prompt(request, source, tokenizer, context_length)
