"""Nothing harmful or broken leaves: answer passes, stop strings, structure. Knows no engine."""

from codex.guard.clean import Cleaner, make_cleaner
from codex.guard.cut import Cleaned
from codex.guard.fim.parse import load_grammars
from codex.guard.stop import StopStrings

__all__ = ["Cleaned", "Cleaner", "StopStrings", "load_grammars", "make_cleaner"]
