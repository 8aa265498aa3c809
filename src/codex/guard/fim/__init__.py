"""The clean-up of fill-in-the-middle answers: one pass a file, composed in `cleaner`."""

from codex.guard.fim.cleaner import FimCleaner
from codex.guard.fim.context import FimContext

__all__ = ["FimCleaner", "FimContext"]
