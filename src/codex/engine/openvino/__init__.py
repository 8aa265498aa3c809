"""The embedded CPU backend: OpenVINO's continuous batching in a worker process.

Names are loaded when they are asked for: the worker imports this package too, and must not carry the server.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from codex.engine.openvino.engine import OpenVinoEngine

__all__ = ["OpenVinoEngine"]


def __getattr__(name: str) -> object:
    if name == "OpenVinoEngine":
        from codex.engine.openvino.engine import OpenVinoEngine

        return OpenVinoEngine
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
