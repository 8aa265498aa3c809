"""Which prompts go into the next engine step, and how much of each. Knows no OpenVINO and no process.

A prompt is read in portions, each short enough for the step budget, with every decoding sequence moving on
in the same step. Among prompts the one with the highest response ratio goes first, (waited + service) /
service: short prompts overtake long ones, and waiting brings any prompt to the front, so none starves
(Hansen, "An analysis of response ratio scheduling", IFIP 1971). A request is let in only when the KV cache
can hold its whole prompt and its longest answer, in order of arrival, so memory never runs out midway.
"""

from __future__ import annotations

import time
from array import array
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from codex.engine.openvino.pacing import Pace
from codex.engine.openvino.prefixes import Chain, KnownPrefixes
from codex.engine.openvino.wire import Piece, Submit, unpack_tokens

IDLE_BUDGET_FACTOR = 2.0
"""A prompt that is alone in the engine gets this many times the step budget."""
_FIXED_TOKENS = 8
"""A step's fixed cost in prompt tokens: it keeps the ratio of a nearly finished prompt finite."""


@dataclass(slots=True, eq=False)
class Sequence:
    """A request inside the worker. `position` counts the prompt tokens that are in the KV cache."""

    submit: Submit
    tokens: array[int]
    chain: Chain
    blocks: int
    arrived: float
    position: int = 0
    reading: bool = False
    generated: list[int] = field(default_factory=list)

    @property
    def id(self) -> int:
        return self.submit.id

    @property
    def remaining(self) -> int:
        return len(self.tokens) - self.position


@dataclass(frozen=True, slots=True)
class Portion:
    """Read the prompt of `sequence` up to `end`; the `last` portion also starts its answer."""

    sequence: Sequence
    start: int
    end: int

    @property
    def last(self) -> bool:
        return self.end == len(self.sequence.tokens)

    @property
    def tokens(self) -> int:
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class Plan:
    """`decoding` sequences go on while `portions` are read."""

    portions: tuple[Portion, ...]
    decoding: int

    @property
    def prefill_tokens(self) -> int:
        return sum(portion.tokens for portion in self.portions)

    @property
    def depth(self) -> int:
        """Middle of the first portion; 0 without one."""
        return (self.portions[0].start + self.portions[0].end) // 2 if self.portions else 0


@dataclass(slots=True)
class Lineup:
    """Everyone in the worker: waiting for a place, being read, decoding. Sizes are in KV cache blocks."""

    max_num_seqs: int
    step_budget_ms: float
    kv_blocks: int
    block: int
    clock: Callable[[], float] = time.monotonic
    pace: Pace = field(default_factory=Pace)
    _waiting: deque[Sequence] = field(default_factory=deque)
    _prompts: dict[int, Sequence] = field(default_factory=dict)
    _decoding: dict[int, Sequence] = field(default_factory=dict)
    _reserved: int = 0
    _prefixes: KnownPrefixes = field(init=False)

    def __post_init__(self) -> None:
        self._prefixes = KnownPrefixes(capacity=self.kv_blocks, block=self.block)

    @property
    def running(self) -> int:
        return len(self._prompts) + len(self._decoding)

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    @property
    def idle(self) -> bool:
        return not (self._waiting or self._prompts or self._decoding)

    def add(self, submit: Submit) -> None:
        tokens = unpack_tokens(submit.tokens)
        blocks = -(-(len(tokens) + submit.max_tokens) // self.block) + 1
        self._waiting.append(Sequence(submit, tokens, self._prefixes.chain(tokens), blocks, self.clock()))

    def remove(self, id_: int) -> None:
        """Forgets `id_` wherever it is."""
        sequence = self._prompts.pop(id_, None) or self._decoding.pop(id_, None)
        if sequence is None:
            self._waiting = deque(other for other in self._waiting if other.id != id_)
        else:
            self._reserved -= sequence.blocks

    def gained(self, piece: Piece) -> None:
        """An answer has grown, or ended; its text stays in the KV cache for a conversation's next turn."""
        sequence = self._decoding[piece.id]
        sequence.generated += piece.tokens
        if piece.finish:
            whole = sequence.tokens + array("i", sequence.generated[:-1])
            self._prefixes.add(self._prefixes.chain(whole), len(whole))
            self.remove(piece.id)

    def plan(self) -> Plan:
        """Lets in who fits, and divides the budget of the next step."""
        self._admit()
        alone = self.running == 1 and not self._waiting
        budget_ms = self.step_budget_ms * (IDLE_BUDGET_FACTOR if alone else 1.0)
        decoding = len(self._decoding)
        return Plan(tuple(self._portions(budget_ms - self.pace.decode_ms(decoding))), decoding)

    def begun(self, portion: Portion) -> None:
        """The engine has been given `portion`."""
        sequence = portion.sequence
        if portion.last:
            self._decoding[sequence.id] = self._prompts.pop(sequence.id)
            self.read(sequence, portion.end)
        else:
            sequence.reading = True

    def read(self, sequence: Sequence, end: int) -> None:
        """The prompt of `sequence` up to `end` is in the KV cache."""
        sequence.reading = False
        sequence.position = end
        self._prefixes.add(sequence.chain, end)

    def _admit(self) -> None:
        while self._waiting and self.running < self.max_num_seqs:
            if self._reserved + self._waiting[0].blocks > self.kv_blocks:
                return
            sequence = self._waiting.popleft()
            self._reserved += sequence.blocks
            self._prompts[sequence.id] = sequence

    def _portions(self, left_ms: float) -> list[Portion]:
        portions: list[Portion] = []
        for sequence in self._by_response_ratio():
            known = min(self._prefixes.known_tokens(sequence.chain), len(sequence.tokens) - 1)
            sequence.position = max(sequence.position, known)
            tokens = int(left_ms / self.pace.token_ms(sequence.position))
            if not portions:
                tokens = max(tokens, self.block)
            portion = self._portion(sequence, tokens)
            if portion is None:
                break
            portions.append(portion)
            left_ms -= portion.tokens * self.pace.token_ms(portion.start)
        return portions

    def _portion(self, sequence: Sequence, tokens: int) -> Portion | None:
        """At most `tokens` more; all but the last portion end with a whole block, or it is lost."""
        if sequence.remaining <= tokens:
            return Portion(sequence, sequence.position, len(sequence.tokens))
        end = (sequence.position + tokens) // self.block * self.block
        return Portion(sequence, sequence.position, end) if end > sequence.position else None

    def _by_response_ratio(self) -> list[Sequence]:
        now = self.clock()

        def ratio(sequence: Sequence) -> float:
            tokens = sequence.remaining + _FIXED_TOKENS
            service_s = tokens * self.pace.token_ms(sequence.position) / 1000
            return (now - sequence.arrived) / service_s

        unread = [sequence for sequence in self._prompts.values() if not sequence.reading]
        return sorted(unread, key=ratio, reverse=True)
