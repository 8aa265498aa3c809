"""What every pass over an answer says: how much of it may leave, and whether it ends there."""

from __future__ import annotations

from typing import NamedTuple


class Cut(NamedTuple):
    """`end` characters of the text may leave and are never taken back; `stop`: nothing follows them, ever."""

    end: int
    stop: bool = False


class Cleaned(NamedTuple):
    """Text that may leave now. With `stop` the answer is over: the engine can be cancelled."""

    text: str
    stop: bool = False
