"""Codex: a self-hosted code model server that improves itself from the requests it serves."""

from codex._version import __version__

__all__ = ["__version__"]
