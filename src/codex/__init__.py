"""Codex: a self-hosted code model server that improves itself from the requests it serves."""

from typing import TYPE_CHECKING

from codex._version import __version__

if TYPE_CHECKING:
    from codex.client import (
        AsyncCodexClient,
        AsyncCompletionStream,
        Chunk,
        CodexClient,
        Completion,
        CompletionStream,
        SecurityLevelIgnored,
    )
    from codex.errors import ClientError, CodexError, ConnectionFailed, ResponseTimeout
    from codex.types import Message, SourceFile, Usage

_HOMES = {
    "codex.client": (
        "AsyncCodexClient",
        "AsyncCompletionStream",
        "Chunk",
        "CodexClient",
        "Completion",
        "CompletionStream",
        "SecurityLevelIgnored",
    ),
    "codex.errors": ("ClientError", "CodexError", "ConnectionFailed", "ResponseTimeout"),
    "codex.types": ("Message", "SourceFile", "Usage"),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "AsyncCodexClient",
    "AsyncCompletionStream",
    "Chunk",
    "ClientError",
    "CodexClient",
    "CodexError",
    "Completion",
    "CompletionStream",
    "ConnectionFailed",
    "Message",
    "ResponseTimeout",
    "SecurityLevelIgnored",
    "SourceFile",
    "Usage",
    "__version__",
]


def __getattr__(name: str) -> object:
    """Imports a public name when it is first used, so that `codex-cli --version` loads no HTTP library."""
    from importlib import import_module

    if name not in _HOME_OF:
        raise AttributeError(f"module 'codex' has no attribute {name!r}")
    return getattr(import_module(_HOME_OF[name]), name)
