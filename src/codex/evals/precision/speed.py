"""How fast a server reads and writes, one request at a time. Knows no precision."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from statistics import median

from codex.evals.target import Target
from codex.evals.wire import Extras
from codex.types import Sampling, TextInput

_NAMES = ("alpha", "beta", "gamma", "delta", "total", "index", "value", "count", "limit", "result")
_LINES = 60
_ANSWER_TOKENS = 64


@dataclass(frozen=True, slots=True)
class Speed:
    """Medians, in tokens a second. None where the server does not count its tokens."""

    prefill_tokens_per_s: float | None
    decode_tokens_per_s: float | None


async def measure_speed(target: Target, *, seed: int = 0, repeats: int = 3) -> Speed:
    """`repeats` prompts that no cache can know: each is read, then goes on for up to 64 tokens.

    Raises:
        ClientError: the server refused.
    """
    random = Random(seed)
    prefill, decode = list[float](), list[float]()
    await target.complete(TextInput(_program(random)), Sampling(max_tokens=8, temperature=0.0, top_p=1.0))
    for _ in range(repeats):
        answer = await target.complete(
            TextInput(_program(random)),
            Sampling(max_tokens=_ANSWER_TOKENS, temperature=0.0, top_p=1.0),
            extras=Extras(timeout_s=600.0),
        )
        if answer.ttft_s is None or answer.prompt_tokens is None or answer.completion_tokens is None:
            continue
        prefill.append(answer.prompt_tokens / answer.ttft_s)
        if answer.completion_tokens > 1 and answer.total_s > answer.ttft_s:
            decode.append((answer.completion_tokens - 1) / (answer.total_s - answer.ttft_s))
    return Speed(median(prefill) if prefill else None, median(decode) if decode else None)


def _program(random: Random) -> str:
    """About 1,000 tokens of code, different each time."""
    lines = [
        f"{random.choice(_NAMES)}_{random.randrange(1000)} = "
        f"{random.choice(_NAMES)}({random.randrange(100)}, {random.randrange(100)})"
        for _ in range(_LINES)
    ]
    return "\n".join([*lines, "for number in range("])
