"""The Python client: public names gathered here, each part in a private module.

Knows only the nouns and the errors.
"""

from codex.client._async import AsyncCodexClient
from codex.client._policy import SecurityLevelIgnored
from codex.client._streams import AsyncCompletionStream, CompletionStream
from codex.client._sync import CodexClient
from codex.client._values import Chunk, Completion, Health, ServedModel

__all__ = [
    "AsyncCodexClient",
    "AsyncCompletionStream",
    "Chunk",
    "CodexClient",
    "Completion",
    "CompletionStream",
    "Health",
    "SecurityLevelIgnored",
    "ServedModel",
]
