"""Tokens out of prompts: the `Engine` protocol, its backends, the model catalogue. Knows no text format.

`create_engine` is loaded when it is asked for: a worker process imports this package too, without the server.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

# `import openvino` sends an event to a collector on the internet, unless this package of its is missing.
sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]

if TYPE_CHECKING:
    from codex.engine.create import create_engine

__all__ = ["create_engine"]


def __getattr__(name: str) -> object:
    if name == "create_engine":
        from codex.engine.create import create_engine

        return create_engine
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
