"""The worker's end of the socket: whole messages, blocking or not. Knows no engine."""

from __future__ import annotations

import select
import socket

from codex.engine.openvino import wire

_RECEIVE_BYTES = 1 << 20


class ServerGone(Exception):
    """The other end of the socket is closed."""


class Channel:
    """Messages over a blocking socket."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self._frames = wire.Frames()

    def receive(self, *, timeout_s: float | None) -> list[wire.ToWorker]:
        """What has arrived; waits up to `timeout_s` for the first byte, for ever when None.

        Raises:
            ServerGone: nobody will ever send again.
        """
        readable, _, _ = select.select([self._socket], [], [], timeout_s)
        if not readable:
            return []
        data = self._socket.recv(_RECEIVE_BYTES)
        if not data:
            raise ServerGone
        return [wire.decode_to_worker(body) for body in self._frames.feed(data)]

    def send(self, message: wire.FromWorker) -> None:
        """
        Raises:
            ServerGone: nobody reads any more.
        """
        try:
            self._socket.sendall(wire.encode(message))
        except (BrokenPipeError, ConnectionResetError) as error:
            raise ServerGone from error
