"""Writing answers: the fast path writes the same bytes as the slow one."""

from __future__ import annotations

import json

import pytest

from codex.serve.shapes import ChatShape, CompletionShape, Envelope, Events, Shape, extension_of
from codex.types import AnswerChunk, FinishReason, TokenLogprob, Usage

ENVELOPE = Envelope("id", "model", "print", created=5)
SHAPES: list[Shape] = [CompletionShape(logprobs=None), ChatShape(logprobs=False, top=0)]


def document(event: bytes) -> dict[str, object]:
    assert event.startswith(b"data: ")
    assert event.endswith(b"\n\n")
    found: dict[str, object] = json.loads(event[6:])
    return found


@pytest.mark.parametrize("usage", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("text", ["a", '"\\\n\r\0', "größe 😀  ", "x" * 1000])
def test_later_pieces_equal_what_a_fresh_rendering_gives(shape: Shape, usage: bool, text: str) -> None:
    events = Events(shape, ENVELOPE, usage=usage)
    events.piece(AnswerChunk(3, "first"))
    fast = document(events.piece(AnswerChunk(3, text)))
    expected = {
        **ENVELOPE.fields(shape.event_object),
        "choices": [{"index": 3, **shape.event(text, first=False), "logprobs": None, "finish_reason": None}],
    }
    assert fast == (expected | {"usage": None} if usage else expected)


def test_an_event_is_one_line_whatever_the_text() -> None:
    events = Events(CompletionShape(logprobs=None), ENVELOPE, usage=False)
    for text in ("a\nb", "a\r\nb", "\n\n"):
        for _ in range(2):
            assert events.piece(AnswerChunk(0, text)).count(b"\n") == 2


def test_only_the_first_piece_of_each_chat_answer_has_the_role() -> None:
    events = Events(ChatShape(logprobs=False, top=0), ENVELOPE, usage=False)
    roles = [b'"role"' in events.piece(AnswerChunk(index, "x")) for index in (0, 1, 0, 1)]
    assert roles == [True, True, False, False]


def test_a_piece_with_logprobs_carries_them() -> None:
    events = Events(CompletionShape(logprobs=1), ENVELOPE, usage=False)
    token = TokenLogprob("a", b"a", -0.25, 7)
    for _ in range(2):
        assert b'"text_offset":[7]' in events.piece(AnswerChunk(0, "a", (token,)))


def test_a_timeout_is_length_to_clients_and_told_beside() -> None:
    events = Events(CompletionShape(logprobs=None), ENVELOPE, usage=False)
    extension = extension_of(Usage(1, 1, truncated_tokens=4), timed_out=True)
    event = document(events.piece(AnswerChunk(0, "", finish=FinishReason.TIMEOUT), extension))
    assert event["codex"] == {"stopped_by": "timeout", "truncated_tokens": 4}
    assert b'"finish_reason":"length"' in json.dumps(event, separators=(",", ":")).encode()
