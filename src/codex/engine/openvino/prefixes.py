"""Which prompt prefixes the engine's KV cache most likely holds. Knows no engine: it keeps its own book.

OpenVINO reuses cached blocks when a request is added but never says how many. Pacing has to know, or a
prompt that is cached already would be walked through in small portions. A wrong guess costs time, never
correctness: the engine looks for itself.
"""

from __future__ import annotations

from array import array
from collections import OrderedDict

Chain = tuple[int, ...]
"""One hash for each whole block of a token sequence; each depends on everything before it."""


class KnownPrefixes:
    """A least-recently-used book of block hashes, as large as the cache, which is `capacity` blocks."""

    def __init__(self, *, capacity: int, block: int) -> None:
        self._capacity = capacity
        self._block = block
        self._blocks: OrderedDict[int, None] = OrderedDict()

    def chain(self, tokens: array[int]) -> Chain:
        packed = tokens.tobytes()
        width = self._block * tokens.itemsize
        hashes: list[int] = []
        last = 0
        for start in range(0, len(packed) - width + 1, width):
            last = hash((last, packed[start : start + width]))
            hashes.append(last)
        return tuple(hashes)

    def known_tokens(self, chain: Chain) -> int:
        """How many tokens at the start of `chain` are in the book."""
        for number, block in enumerate(chain):
            if block not in self._blocks:
                return number * self._block
        return len(chain) * self._block

    def add(self, chain: Chain, tokens: int) -> None:
        """The first `tokens` tokens of `chain` have been computed, or used again."""
        for block in chain[: tokens // self._block]:
            self._blocks[block] = None
            self._blocks.move_to_end(block)
        while len(self._blocks) > self._capacity:
            self._blocks.popitem(last=False)
