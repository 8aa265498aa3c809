"""The special tokens of Qwen2.5-Coder by name, as ids of one vocabulary, and what ends an answer.

Only this file turns a name into a special id: text from users never does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import cast

from codex.errors import UnsupportedModel
from codex.types import Tokenizer

SPECIAL_NAMES = (
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|fim_prefix|>",
    "<|fim_middle|>",
    "<|fim_suffix|>",
    "<|fim_pad|>",
    "<|repo_name|>",
    "<|file_sep|>",
)
"""Those that a prompt is built of, or that a model may answer with."""


@dataclass(frozen=True, slots=True)
class Template:
    """Ids of `SPECIAL_NAMES` in one vocabulary (Qwen2.5-Coder technical report, table 1)."""

    endoftext: int
    im_start: int
    im_end: int
    fim_prefix: int
    fim_middle: int
    fim_suffix: int
    fim_pad: int
    repo_name: int
    file_sep: int

    @property
    def all_ids(self) -> frozenset[int]:
        return frozenset(getattr(self, f.name) for f in fields(self))

    @property
    def code_stops(self) -> frozenset[int]:
        """Code ends at any special token: a model closes with `<|im_end|>` or opens the next file."""
        return self.all_ids

    @property
    def chat_stops(self) -> frozenset[int]:
        """A turn ends where a turn can end; other special tokens stand for no bytes and drop out."""
        return frozenset({self.im_end, self.endoftext, self.im_start})

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> Template:
        """The ids in `tokenizer`'s vocabulary, checked once for each tokenizer.

        Raises:
            UnsupportedModel: a name is missing, two share an id, or plain text can become one of them.
        """
        return cast("Callable[[Tokenizer], Template]", _template_of)(tokenizer)


@lru_cache(maxsize=8)
def _template_of(tokenizer: Tokenizer) -> Template:
    try:
        template = Template(*(tokenizer.special(name) for name in SPECIAL_NAMES))
    except KeyError as error:
        raise UnsupportedModel(
            f"the vocabulary has no special token {error}: serve a Qwen2.5-Coder model, or another template"
        ) from error
    if len(template.all_ids) != len(SPECIAL_NAMES):
        raise UnsupportedModel("two special tokens share an id: the model's tokenizer.json is broken")
    leaking = [name for name in SPECIAL_NAMES if template.all_ids & set(tokenizer.encode(name))]
    if leaking:
        raise UnsupportedModel(f"the tokenizer turns the plain text {leaking[0]} into a special token")
    return template
