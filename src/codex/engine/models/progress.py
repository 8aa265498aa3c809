"""How long work shows itself: one small protocol. Knows no terminal."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Gets one stage after the other. A stage counts bytes, or has `total` None when it cannot."""

    def stage(self, name: str, total: int | None) -> None:
        """A new stage begins; the one before is over."""
        ...

    def advance(self, amount: int) -> None:
        """`amount` more of the stage's total is done."""
        ...


class Silent:
    """Shows nothing."""

    def stage(self, name: str, total: int | None) -> None:
        return

    def advance(self, amount: int) -> None:
        return
