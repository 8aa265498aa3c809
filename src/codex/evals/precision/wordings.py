"""The ways of asking for a function that are compared, as a target that rewrites what it is asked.

Only the prompt differs: the same run, extraction and tests stand behind every wording.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Literal, get_args

import httpx2

from codex.errors import EvaluationError
from codex.evals.begun import begun_chat
from codex.evals.target import GREEDY, Target, TargetAnswer
from codex.evals.wire import Extras
from codex.types import ChatInput, FimInput, Sampling, TextInput, Tokenizer

Wording = Literal["begun", "qwen", "no-system", "evalplus", "completion"]
"""`begun`: Qwen's words, the answer begun with the function's head. `qwen`: its own harness, nothing begun.
`no-system`: that without the system message, so that the model's default stands. `evalplus`: EvalPlus's
question and its opening of the answer. `completion`: the signature goes on as plain text."""
WORDINGS: tuple[Wording, ...] = get_args(Wording)

_CODE = re.compile(r"```python\n(.*?)\n```", re.DOTALL)
_DEFAULT_SYSTEM = "You are Qwen, created by Alibaba Cloud. You are a helpful assistant."
_EVALPLUS_ASKS = (
    "Please provide a self-contained Python script that solves the following problem "
    "in a markdown code block:"
)
_EVALPLUS_OPENS = (
    "Below is a Python script with a self-contained function that solves the problem "
    "and passes corresponding tests:\n"
)
_FENCE = "```python\n"


class Reworded(Target):
    """A target that asks in another wording. A begun answer is token ids, so those need the `tokenizer`."""

    def __init__(
        self,
        base_url: str,
        wording: Wording,
        *,
        tokenizer: Tokenizer | None = None,
        timeout_s: float = 600.0,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        super().__init__(base_url, timeout_s=timeout_s, transport=transport)
        self._wording = wording
        self.tokenizer = tokenizer

    async def complete(
        self,
        input: TextInput | FimInput | ChatInput,
        sampling: Sampling = GREEDY,
        *,
        stop: tuple[str, ...] = (),
        until: Callable[[str], bool] | None = None,
        extras: Extras | None = None,
    ) -> TargetAnswer:
        """See `Target.complete`. What the wording wrote of the answer itself stands in front of it."""
        if not isinstance(input, ChatInput) or self._wording not in {"no-system", "evalplus"}:
            return await super().complete(input, sampling, stop=stop, until=until, extras=extras)
        asked = reworded(input, self._wording, self.tokenizer)
        opened = _FENCE if self._wording == "evalplus" else ""
        told = None if until is None else (lambda text: until(opened + text))
        answer = await super().complete(asked, sampling, stop=stop, until=told, extras=extras)
        return replace(answer, text=opened + answer.text)


def reworded(source: ChatInput, wording: Wording, tokenizer: Tokenizer | None) -> ChatInput | TextInput:
    """The question of `source` in another wording.

    Raises EvaluationError: there is no code in the question, or no tokenizer where one is needed.
    """
    if wording == "no-system":
        return ChatInput(tuple(message for message in source.messages if message.role != "system"))
    if wording != "evalplus":
        return source
    code = _CODE.search(source.messages[-1].content)
    if code is None or tokenizer is None:
        raise EvaluationError(
            "the evalplus wording needs a question with Python code, and the model's tokenizer"
        )
    question = f"{_EVALPLUS_ASKS}\n```\n{code[1].strip()}\n```\n"
    return begun_chat(_DEFAULT_SYSTEM, question, _EVALPLUS_OPENS + _FENCE, tokenizer)
