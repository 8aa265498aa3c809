"""The prompt of a plain continuation: text, or token ids as they are."""

from __future__ import annotations

from codex.errors import RequestError
from codex.prompt.budget import SHORTEN_OR_TRUNCATE, keep_end, room_for_prompt, too_long
from codex.prompt.encode import Encoded, encode_tail
from codex.prompt.template import Template
from codex.types import Prompt, Request, TextInput, Tokenizer


def text_prompt(request: Request, source: TextInput, tokenizer: Tokenizer, context_length: int) -> Prompt:
    """The end of the text is kept where it does not fit and may be shortened.

    Raises:
        RequestError: an id is not in the vocabulary.
        ContextLengthExceeded: it does not fit and the request does not allow to shorten it.
    """
    template = Template.of(tokenizer)
    max_tokens = request.sampling.max_tokens
    room = room_for_prompt(context_length, max_tokens)
    found = _encode(source, tokenizer, room)
    if found.left_out and not request.truncate:
        raise too_long(found.total, room, max_tokens, param="prompt", hint=SHORTEN_OR_TRUNCATE)
    kept = keep_end(tokenizer, found.tokens, room - 1) if found.left_out else found.tokens
    # An empty text is the start of a document, which this vocabulary writes as <|endoftext|>.
    return Prompt(kept or (template.endoftext,), template.code_stops, found.total - len(kept))


def _encode(source: TextInput, tokenizer: Tokenizer, room: int) -> Encoded:
    if isinstance(source.text, str):
        return encode_tail(tokenizer, source.text, room)
    for token in source.text:
        if not 0 <= token < tokenizer.vocab_size:
            raise RequestError(
                f"token id {token} is not in the vocabulary of {tokenizer.vocab_size} ids", param="prompt"
            )
    kept = source.text[-room:]
    return Encoded(kept, len(source.text) - len(kept))
