"""The OpenAI-compatible interface over HTTP, and the doors for operators. Knows fields and paths."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from fastapi import APIRouter, FastAPI, Request
from starlette.responses import Response

from codex import __version__
from codex.errors import EngineUnavailable, ModelNotServed
from codex.pipeline import Pipeline
from codex.serve.answers import Errand, StreamedAnswer, WholeAnswer
from codex.serve.bodies import ChatBody, CompletionBody
from codex.serve.middleware import RequestFrame
from codex.serve.problems import add_problem_handlers
from codex.serve.replies import (
    ChatReply,
    CompletionReply,
    Health,
    ModelReply,
    ModelsReply,
    Readiness,
    answers,
    errors,
)
from codex.serve.shapes import ChatShape, CompletionShape, Envelope, Events, Shape, Whole
from codex.settings import Settings
from codex.types import EngineState

ALIAS = "codex"
"""Serves whatever is served: editors keep working when the model behind it changes."""

Lifespan = Callable[[FastAPI], AbstractAsyncContextManager[None]]


def create_app(pipeline: Pipeline, settings: Settings, *, lifespan: Lifespan | None = None) -> FastAPI:
    """The application around `pipeline`; the engine is started by `lifespan`, or by whoever runs the app."""
    app = FastAPI(
        title="Codex",
        version=__version__,
        lifespan=lifespan,
        separate_input_output_schemas=False,
    )
    app.include_router(_generating(pipeline, settings))
    app.include_router(_models(pipeline))
    app.include_router(_operating(pipeline))
    add_problem_handlers(app, pipeline.metrics)
    app.add_middleware(RequestFrame, release=lambda: pipeline.engine.info.release)
    return app


def _generating(pipeline: Pipeline, settings: Settings) -> APIRouter:
    router = APIRouter(prefix="/v1", tags=["answers"])

    @router.post("/completions", response_model=None, responses=answers(CompletionReply))
    async def completions(body: CompletionBody, request: Request) -> Response:
        """Continues a prompt, or fills the gap before `suffix`."""
        _check_model(body.model, pipeline)
        requests = body.requests(request.state.request_id, settings.preset)
        records = [pipeline.record(each) for each in requests]
        errand = Errand(requests, records, body.echoes(pipeline.engine.tokenizer))
        return _answer(pipeline, errand, body, CompletionShape(logprobs=body.logprobs))

    @router.post("/chat/completions", response_model=None, responses=answers(ChatReply))
    async def chat(body: ChatBody, request: Request) -> Response:
        """Answers the last message of a conversation."""
        _check_model(body.model, pipeline)
        asked = body.request(request.state.request_id, settings.preset)
        errand = Errand([asked], [pipeline.record(asked)], [""])
        shape = ChatShape(logprobs=bool(body.logprobs), top=body.top_logprobs or 0)
        return _answer(pipeline, errand, body, shape)

    return router


def _answer(pipeline: Pipeline, errand: Errand, body: CompletionBody | ChatBody, shape: Shape) -> Response:
    info = pipeline.engine.info
    envelope = Envelope(f"{shape.id_prefix}{errand.requests[0].id}", info.name, info.release[:12])
    if body.stream:
        events = Events(shape, envelope, usage=body.wants_usage)
        return StreamedAnswer(pipeline, errand, events, usage=body.wants_usage)
    return WholeAnswer(pipeline, errand, Whole(shape, envelope, errand.answers))


def _check_model(name: str | None, pipeline: Pipeline) -> None:
    info = pipeline.engine.info
    if name not in (None, info.name, info.release, ALIAS):
        raise ModelNotServed(f"this model is not served here; served are: {info.name}, {ALIAS}")


def _models(pipeline: Pipeline) -> APIRouter:
    router = APIRouter(prefix="/v1/models", tags=["models"])
    since = int(time.time())

    def described(name: str) -> ModelReply:
        info = pipeline.engine.info
        return ModelReply(
            id=name,
            object="model",
            created=since,
            owned_by="codex",
            release=info.release,
            context_length=info.context_length,
            quant=info.quant,
            backend=info.backend,
        )

    @router.get("", response_model=ModelsReply, responses=errors(405))
    async def models() -> ModelsReply:
        """What is served: the model by its name, and the alias that always works."""
        return ModelsReply(object="list", data=[described(pipeline.engine.info.name), described(ALIAS)])

    @router.get("/{model}", response_model=ModelReply, responses=errors(404, 405))
    async def model(model: str) -> ModelReply:
        """One model by name, release id or alias."""
        _check_model(model, pipeline)
        return described(model)

    return router


def _operating(pipeline: Pipeline) -> APIRouter:
    router = APIRouter(tags=["operation"])

    @router.get("/healthz", response_model=Health, responses=errors(405))
    async def healthz() -> Health:
        """The process answers. Says nothing about the engine: see `/readyz`."""
        return Health(status="alive")

    @router.get("/readyz", response_model=Readiness, responses=errors(405, 503))
    async def readyz() -> Readiness:
        """The engine can take requests now."""
        status = pipeline.engine.status()
        if status.state is not EngineState.READY:
            reason = f": {status.detail}" if status.detail else ""
            raise EngineUnavailable(f"the engine is {status.state}{reason}")
        return Readiness(status="ready", release=pipeline.engine.info.release)

    @router.get(
        "/metrics",
        response_class=Response,
        responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}, **errors(405)},
    )
    async def metrics() -> Response:
        """Prometheus text format."""
        return Response(pipeline.metrics.render(), headers={"content-type": pipeline.metrics.content_type})

    return router
