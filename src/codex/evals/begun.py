"""Conversations whose answer is begun by us, as Qwen2.5-Coder's own harness begins it with an open fence.

The chat interface has no such thing, so the prompt goes out as a text prompt: to our own server as token ids
(text never becomes a special token there), to a peer with the special tokens written out.
"""

from __future__ import annotations

from pathlib import Path

from codex.engine.models import list_prepared
from codex.engine.tokenizer import QwenTokenizer
from codex.errors import EvaluationError
from codex.types import TextInput, Tokenizer


def begun_chat(system: str, question: str, begun: str, tokenizer: Tokenizer | None) -> TextInput:
    """ChatML up to the middle of the answer; as token ids where there is a tokenizer, else as text."""
    turns = (("system", system), ("user", question), ("assistant", begun))
    if tokenizer is None:
        text = "<|im_end|>\n".join(f"<|im_start|>{role}\n{content}" for role, content in turns)
        return TextInput(text)
    start, end = tokenizer.special("<|im_start|>"), tokenizer.special("<|im_end|>")
    tokens: list[int] = []
    for role, content in turns:
        tokens += [start, *tokenizer.encode(f"{role}\n{content}"), end, *tokenizer.encode("\n")]
    closing = 1 + len(tokenizer.encode("\n"))
    return TextInput(tuple(tokens[:-closing]))


def served_tokenizer(name: str, models_dir: Path) -> Tokenizer:
    """The tokenizer of the model that our own server names so, from its prepared files on this machine.

    Raises EvaluationError: the model is not prepared here.
    """
    found = [listed.model.path for listed in list_prepared(models_dir) if listed.model.name == name]
    if not found:
        raise EvaluationError(
            f"{name} is not among the prepared models in {models_dir}, so an answer cannot be begun for it: "
            "use --prompt chat or --prompt completion, or --fim template for a peer"
        )
    return QwenTokenizer.load(found[0] / "tokenizer.json")
