"""Errors in the shape OpenAI clients expect. Knows every error of ours, and tells nothing of foreign ones."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from codex.errors import CodexError, RequestError
from codex.observe import Metrics
from codex.serve.bodies import UNSUPPORTED

INTERNAL = CodexError("the server failed on this request: its log has the details under the request id")

_HTTP_CODES = {400: "invalid_json", 404: "not_found", 405: "method_not_allowed", 413: "body_too_large"}


class Problem(msgspec.Struct, frozen=True):
    """One error as it goes over the wire."""

    message: str
    type: str
    param: str | None
    code: str


def problem_of(error: CodexError) -> Problem:
    param = error.param if isinstance(error, RequestError) else None
    return Problem(str(error), _type_of(error.status), param, error.code)


def render_problem(problem: Problem) -> bytes:
    return msgspec.json.encode({"error": problem})


def error_headers(error: CodexError) -> dict[str, str]:
    """`Retry-After` in whole seconds where the error knows when to come back."""
    retry_after_s: float | None = getattr(error, "retry_after_s", None)
    return {} if retry_after_s is None else {"retry-after": str(math.ceil(retry_after_s))}


def add_problem_handlers(app: FastAPI, metrics: Metrics) -> None:
    """Every error that ends a request before its answer began becomes one response of the same shape."""

    def answer(request: Request, status: int, problem: Problem, headers: Mapping[str, str]) -> Response:
        if not getattr(request.state, "on_road", False):
            _note_refusal(request, status, problem, metrics)
        return Response(render_problem(problem), status, headers, media_type="application/json")

    @app.exception_handler(CodexError)
    async def ours(request: Request, error: CodexError) -> Response:
        return answer(request, error.status, problem_of(error), error_headers(error))

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        return answer(request, 400, _invalid(error.errors()), {})

    @app.exception_handler(HTTPException)
    async def http(request: Request, error: HTTPException) -> Response:
        code = _HTTP_CODES.get(error.status_code, "invalid_request")
        problem = Problem(str(error.detail), _type_of(error.status_code), None, code)
        return answer(request, error.status_code, problem, error.headers or {})


def _note_refusal(request: Request, status: int, problem: Problem, metrics: Metrics) -> None:
    """The line of a request that never reached the pipeline. Its path may hold anything, its route not."""
    metrics.requests.refused(problem.code)
    route = request.scope.get("route")
    structlog.get_logger("codex.request").info(
        "refused",
        id=getattr(request.state, "request_id", None),
        route=getattr(route, "path", None),
        status=status,
        code=problem.code,
        param=problem.param,
    )


def _invalid(errors: Iterable[Mapping[str, Any]]) -> Problem:
    """The first field at fault, with what each alternative of its type has to say. Never the input itself."""
    found = [(_field(error["loc"]), str(error["msg"])) for error in errors]
    param = found[0][0]
    if param in UNSUPPORTED:
        message = f"{param} is not supported by this server: leave it out"
        return Problem(message, _type_of(400), param, "unsupported")
    if param is None:
        return Problem(
            f"the body is no JSON object of this interface: {found[0][1]}",
            _type_of(400),
            None,
            _HTTP_CODES[400],
        )
    reasons = dict.fromkeys(reason for field, reason in found if field == param)
    return Problem(f"{param}: {'; '.join(reasons)}", _type_of(400), param, RequestError.code)


def _field(location: tuple[int | str, ...]) -> str | None:
    return location[1] if len(location) > 1 and isinstance(location[1], str) else None


def _type_of(status: int) -> str:
    if status == 429:
        return "rate_limit_error"
    return "server_error" if status >= 500 else "invalid_request_error"
