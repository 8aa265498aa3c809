"""What every HTTP response carries, its request's id and the release; and the last net for foreign errors."""

from __future__ import annotations

import re
from collections.abc import Callable
from uuid import uuid4

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from codex.errors import CodexError
from codex.serve.problems import INTERNAL, problem_of, render_problem

MAX_BODY_BYTES = 4 << 20
"""More than ten times what fills the largest window of the catalogue as code."""

_SANE_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}")


class RequestFrame:
    """Gives each request an id (the client's own where it is sane) and answers 500 for what nobody caught."""

    def __init__(self, app: ASGIApp, release: Callable[[], str]) -> None:
        self._app = app
        self._release = release

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = _request_id(scope)
        scope.setdefault("state", {})["request_id"] = request_id
        started = False

        async def send_framed(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                headers = MutableHeaders(scope=message)
                headers["x-request-id"] = request_id
                headers["x-codex-release"] = self._release()
            await send(message)

        try:
            await self._app(scope, _limited(receive, scope), send_framed)
        except Exception:
            structlog.get_logger("codex.serve").exception("request failed", id=request_id)
            if started:
                raise
            await _send_internal_error(send_framed)


def _request_id(scope: Scope) -> str:
    given = Headers(scope=scope).get("x-request-id", "")
    return given if _SANE_ID.fullmatch(given) else uuid4().hex


def _limited(receive: Receive, scope: Scope) -> Receive:
    """Refuses a body above the limit while it is read, so that the refusal is an answer like any other."""
    announced = Headers(scope=scope).get("content-length", "")
    left = -1 if announced.isdecimal() and int(announced) > MAX_BODY_BYTES else MAX_BODY_BYTES

    async def limited() -> Message:
        nonlocal left
        if left >= 0:
            message = await receive()
            left -= len(message.get("body", b""))
            if left >= 0:
                return message
        raise HTTPException(413, f"the body is larger than {MAX_BODY_BYTES} bytes")

    return limited


async def _send_internal_error(send: Send) -> None:
    body = render_problem(problem_of(INTERNAL))
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": CodexError.status, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": False})
