"""Every error that Codex raises on purpose. A message names what was wrong and what to do.

CodexError
├── RequestError                 400  the request can never succeed as it stands
│   └── ContextLengthExceeded    400  the prompt does not fit the model's window
├── ModelNotServed               404  the request names a model that is not served here
├── RequestTimeout               408  time ran out before the first token
├── Overloaded                   429  the queue is full; carries retry_after_s
├── EngineError                  500  the engine failed on this request
│   ├── EngineCrashed            502  the engine's process died while answering
│   └── EngineUnavailable        503  no engine is ready; carries retry_after_s
├── ModelError                   the model catalogue or a model's files (start-up, command line)
│   ├── UnknownModel                  no such name, no such path
│   ├── ModelUnavailable              no source could deliver it
│   ├── ModelCorrupt                  checksum or content is wrong
│   ├── UnsupportedModel              files are fine, the engine cannot serve them
│   └── DiskFull                      not enough room to prepare it
├── CannotListen                 the server's address is taken or not ours (start-up, command line)
├── EvaluationError              an evaluation's data or run is unusable
├── SandboxUnavailable           there is no way to run a model's code safely on this machine
└── ClientError                  raised by CodexClient; carries status and code from the server
    ├── ConnectionFailed              nothing answered at the address
    └── ResponseTimeout               the server took longer than the client's timeout
"""

from __future__ import annotations


class CodexError(Exception):
    """Root of the tree. `status` is the HTTP status a transport answers with, `code` its machine name."""

    status = 500
    code = "internal_error"


class RequestError(CodexError):
    """The request can never succeed as it stands. `param` names the field at fault."""

    status = 400
    code = "invalid_request"

    def __init__(self, message: str, *, param: str | None = None) -> None:
        super().__init__(message)
        self.param = param


class ContextLengthExceeded(RequestError):
    code = "context_length_exceeded"


class ModelNotServed(CodexError):
    status = 404
    code = "model_not_found"


class RequestTimeout(CodexError):
    status = 408
    code = "timeout"


class Overloaded(CodexError):
    status = 429
    code = "overloaded"

    def __init__(self, message: str, *, retry_after_s: float) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class EngineError(CodexError):
    code = "engine_error"


class EngineCrashed(EngineError):
    status = 502
    code = "engine_crashed"


class EngineUnavailable(EngineError):
    status = 503
    code = "engine_unavailable"

    def __init__(self, message: str, *, retry_after_s: float = 5.0) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class ModelError(CodexError):
    code = "model_error"


class UnknownModel(ModelError):
    code = "unknown_model"


class ModelUnavailable(ModelError):
    code = "model_unavailable"


class ModelCorrupt(ModelError):
    code = "model_corrupt"


class UnsupportedModel(ModelError):
    code = "unsupported_model"


class DiskFull(ModelError):
    code = "disk_full"


class CannotListen(CodexError):
    code = "cannot_listen"


class EvaluationError(CodexError):
    code = "evaluation_error"


class SandboxUnavailable(CodexError):
    code = "sandbox_unavailable"


class ClientError(CodexError):
    """What a server answered, as the client saw it. `status` is 0 when there was no answer."""

    def __init__(
        self, message: str, *, status: int = 0, code: str = "client_error", retry_after_s: float | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.retry_after_s = retry_after_s


class ConnectionFailed(ClientError):
    pass


class ResponseTimeout(ClientError):
    pass
