"""A worker process without a model, for tests of what surrounds it. Its first argument says how it behaves.

It answers with the prompt's own tokens, one a step. Token 0 kills it as soon as it is read, token 1 kills it
after one token of the answer, token 2 is never answered, token 3 takes half a second.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import time
from pathlib import Path

from codex.engine.openvino import wire
from codex.engine.openvino.channel import Channel, ServerGone

DIE_AT_ONCE, DIE_AFTER_ONE, NEVER, SLOW = 0, 1, 2, 3


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def step(*pieces: wire.Piece, running: int = 0) -> wire.Step:
    read = [(piece.id, 1) for piece in pieces]
    return wire.Step(list(pieces), read, running, 0, 0.5, 1, 1.0)


def answer(channel: Channel, submit: wire.Submit) -> None:
    tokens = list(wire.unpack_tokens(submit.tokens))
    if DIE_AT_ONCE in tokens:
        die()
    if NEVER in tokens:
        channel.send(step(running=1))
        return
    if SLOW in tokens:
        time.sleep(0.5)
    for number, token in enumerate(tokens):
        finish = "stop" if number == len(tokens) - 1 else ""
        channel.send(step(wire.Piece(submit.id, [token], [-0.5], finish)))
        if DIE_AFTER_ONE in tokens:
            time.sleep(0.2)  # the server must have read the token, or it would rightly ask again
            die()


def serve(channel: Channel, log: Path) -> None:
    while True:
        for message in channel.receive(timeout_s=None):
            with log.open("a") as file:
                file.write(f"{type(message).__name__} {getattr(message, 'id', '')}\n")
            if isinstance(message, wire.Submit):
                answer(channel, message)
            elif isinstance(message, wire.Cancel):
                channel.send(step())


def main() -> None:
    behaviour, log, fd = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    channel = Channel(socket.socket(fileno=fd))
    with log.open("a") as file:
        file.write("born\n")
    if behaviour == "refuse-to-start":
        sys.exit("the weights are made of cheese")
    if behaviour == "die-when-ready" and log.read_text().count("born") > 1:
        sys.exit("again")
    channel.receive(timeout_s=None)
    channel.send(wire.Ready(1 << 20, 1000))
    if behaviour == "die-when-ready":
        sys.exit("tired")
    try:
        serve(channel, log)
    except ServerGone:
        return


if __name__ == "__main__":
    main()
