"""Attention settings under comparison: how they are written, and what they mean for a server's settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from codex.errors import EvaluationError
from codex.settings import Settings

AttentionKind = Literal["dense", "trishape", "xattention"]
BLOCK = 32
"""Tokens in a block of the engine's KV cache: windows are whole blocks."""


@dataclass(frozen=True, slots=True)
class Attention:
    """`sink` and `recent` are tokens that every prompt token sees in `trishape`: the first and the latest."""

    kind: AttentionKind = "dense"
    sink: int = 0
    recent: int = 0

    @property
    def label(self) -> str:
        return f"trishape:{self.sink}:{self.recent}" if self.kind == "trishape" else self.kind

    def applied(self, base: Settings) -> Settings:
        """`base` with this attention."""
        changes: dict[str, object] = {"attention_type": self.kind}
        if self.kind == "trishape":
            changes |= {"attention_sink_tokens": self.sink, "attention_recent_tokens": self.recent}
        return base.model_copy(update=changes)


DENSE = Attention()


def parse_attention(text: str) -> Attention:
    """`dense`, `xattention` or `trishape:SINK:RECENT` in tokens.

    Raises EvaluationError: anything else, or windows that are no whole blocks.
    """
    kind, *sizes = text.split(":")
    if not sizes and kind == "dense":
        return DENSE
    if not sizes and kind == "xattention":
        return Attention("xattention")
    if kind != "trishape" or len(sizes) != 2 or not all(size.isdigit() for size in sizes):
        raise EvaluationError(f"{text!r} is no attention: dense, xattention or trishape:SINK:RECENT")
    sink, recent = (int(size) for size in sizes)
    if sink % BLOCK or recent % BLOCK or recent == 0:
        raise EvaluationError(f"{text!r}: sink and recent tokens are whole blocks of {BLOCK} tokens")
    return Attention("trishape", sink, recent)
