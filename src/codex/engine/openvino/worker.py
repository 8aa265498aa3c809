"""The worker process: one loop around OpenVINO's pipeline, fed by a socket. Imports nothing of the server.

`python -m codex.engine.openvino.worker FD` serves the socket FD and lives exactly as long as the other end:
when the server goes, however it goes, the socket ends and so does the worker.
"""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import sys
import time
from pathlib import Path

from codex.engine.openvino import wire
from codex.engine.openvino.attention import step_budget_ms
from codex.engine.openvino.batch import Batch
from codex.engine.openvino.channel import Channel, ServerGone
from codex.engine.openvino.lineup import Lineup, Plan
from codex.engine.openvino.pacing import Pace
from codex.engine.openvino.properties import BLOCK_TOKENS, kv_layout, load_pipeline
from codex.errors import UnsupportedModel

_PR_SET_PDEATHSIG = 1


class Worker:
    """Between two steps: take messages, plan, step, send all news in one message."""

    def __init__(self, config: wire.Config, channel: Channel) -> None:
        path = Path(config.model_path)
        layout = kv_layout(path)
        kv_blocks = config.kv_cache_bytes // layout.block_bytes
        pipeline = load_pipeline(
            path,
            layout=layout,
            kv_blocks=kv_blocks,
            max_num_seqs=config.max_num_seqs,
            threads=config.threads,
            attention=config.attention,
        )
        self._channel = channel
        self._batch = Batch(pipeline)
        self._lineup = Lineup(
            max_num_seqs=config.max_num_seqs,
            step_budget_ms=step_budget_ms(config.attention, config.step_budget_ms),
            kv_blocks=kv_blocks,
            block=BLOCK_TOKENS,
        )
        self._steps = 0
        self._warm_up()
        self._ready = wire.Ready(kv_blocks * layout.block_bytes, (kv_blocks - 1) * BLOCK_TOKENS)

    def run(self) -> None:
        """Serves until the server is gone.

        Raises:
            ServerGone: always, in the end.
        """
        self._channel.send(self._ready)
        while True:
            for message in self._channel.receive(timeout_s=None if self._lineup.idle else 0):
                self._take(message)
            if not self._lineup.idle:
                self._channel.send(self._step())

    def _take(self, message: wire.ToWorker) -> None:
        match message:
            case wire.Submit():
                self._lineup.add(message)
            case wire.Cancel():
                self._batch.cancel(message.id)
                self._lineup.remove(message.id)
                if self._lineup.idle:
                    self._batch.settle()
                    self._channel.send(self._report([], Plan((), 0), 0.0))
            case wire.Config():
                raise UnsupportedModel("a worker is configured once")

    def _step(self) -> wire.Step:
        plan = self._begin(self._lineup.plan())
        started = time.perf_counter()
        read, pieces = self._batch.step()
        step_ms = (time.perf_counter() - started) * 1000
        self._steps += 1
        for portion in read:
            self._lineup.read(portion.sequence, portion.end)
        for piece in pieces:
            self._lineup.gained(piece)
        self._lineup.pace.observe(
            step_ms, decoding=plan.decoding, prefill_tokens=plan.prefill_tokens, depth=plan.depth
        )
        return self._report(pieces, plan, step_ms)

    def _begin(self, plan: Plan) -> Plan:
        """Hands the plan to the engine; what the engine refuses is taken out of it."""
        begun = []
        for portion in plan.portions:
            try:
                self._batch.begin(portion)
            except RuntimeError as error:
                self._lineup.remove(portion.sequence.id)
                self._channel.send(wire.Refused(portion.sequence.id, str(error)))
            else:
                self._lineup.begun(portion)
                begun.append(portion)
        return Plan(tuple(begun), plan.decoding)

    def _report(self, pieces: list[wire.Piece], plan: Plan, step_ms: float) -> wire.Step:
        return wire.Step(
            pieces=pieces,
            read=[(portion.sequence.id, portion.tokens) for portion in plan.portions],
            running=self._lineup.running,
            waiting=self._lineup.waiting,
            kv_used_share=self._batch.kv_used_share,
            steps=self._steps,
            step_ms=step_ms,
        )

    def _warm_up(self) -> None:
        """The first answer compiles kernels and touches memory, the second tells the pace where to start."""
        for number, temperature in enumerate((0.0, 1.0)):
            self._lineup.pace = Pace()
            prompt = wire.pack_tokens(range(number, 2 * BLOCK_TOKENS + number))
            stops: tuple[int, ...] = ()
            values = (0.95, 0, 0.0, 0.0, 1.0, 0, False, stops)
            self._lineup.add(wire.Submit(0, prompt, 3, temperature, *values))
            while not self._lineup.idle:
                self._step()


def main() -> None:
    fd = int(sys.argv[1])
    _tie_to_parent()
    channel = Channel(socket.socket(fileno=fd))
    try:
        config = _configuration(channel)
        Worker(config, channel).run()
    except ServerGone:
        return


def _configuration(channel: Channel) -> wire.Config:
    messages: list[wire.ToWorker] = []
    while not messages:
        messages = channel.receive(timeout_s=None)
    match messages:
        case [wire.Config() as config]:
            return config
        case _:
            raise UnsupportedModel(f"expected a configuration first, got {type(messages[0]).__name__}")


def _tie_to_parent() -> None:
    """Dies with the server even in the middle of a step; Ctrl-C in a terminal is the server's to handle."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.dup2(2, 1)  # what native code prints must not get lost: the server keeps the last lines of stderr
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


if __name__ == "__main__":
    main()
