"""Frames survive any cut of the stream, and refuse a broken one."""

from __future__ import annotations

import pytest

from codex.engine.openvino import wire

SUBMIT = wire.Submit(
    id=7,
    tokens=wire.pack_tokens([1, 151_664, 0]),
    max_tokens=9,
    temperature=0.5,
    top_p=0.9,
    top_k=3,
    frequency_penalty=0.1,
    presence_penalty=0.2,
    repetition_penalty=1.1,
    seed=2**32 - 1,
    logprobs=True,
    stop_token_ids=(5, 6),
)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 1000])
def test_messages_come_out_whole_wherever_the_stream_is_cut(size: int) -> None:
    messages: list[wire.ToWorker] = [SUBMIT, wire.Cancel(7), SUBMIT]
    stream = b"".join(wire.encode(message) for message in messages)
    frames = wire.Frames()
    pieces = [stream[start : start + size] for start in range(0, len(stream), size)]
    bodies = [body for piece in pieces for body in frames.feed(piece)]
    assert [wire.decode_to_worker(body) for body in bodies] == messages


def test_a_step_keeps_every_piece() -> None:
    step = wire.Step([wire.Piece(1, [5, 6], [-0.1, -2.0], "stop")], [(1, 32)], 2, 1, 0.25, 9, 12.5)
    (body,) = wire.Frames().feed(wire.encode(step))
    assert wire.decode_from_worker(body) == step


def test_tokens_are_packed_without_loss() -> None:
    tokens = [0, 1, 151_935, 2**31 - 1]
    assert list(wire.unpack_tokens(wire.pack_tokens(tokens))) == tokens


def test_an_absurd_length_is_a_broken_stream_and_not_a_reason_to_wait() -> None:
    with pytest.raises(ValueError, match="broken"):
        wire.Frames().feed(b"\xff\xff\xff\xff")
