"""Who may ask how much: places for requests that generate, and a bounded queue before them."""

from codex.access.admission import Admission

__all__ = ["Admission"]
