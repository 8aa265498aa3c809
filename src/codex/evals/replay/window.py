"""What an editor sends of a file: the lines around the cursor, starting where the server's cache can follow.

Knows edits and options; no server.
"""

from __future__ import annotations

from codex.evals.replay.edits import Edit, lines_of
from codex.evals.replay.options import ReplayOptions
from codex.types import FimInput


class Window:
    """The requests of one edit. The prefix starts at the same line for all of them."""

    def __init__(self, edit: Edit, options: ReplayOptions) -> None:
        self._edit = edit
        lines = lines_of(edit.before)
        step = max(options.prefix_lines // 2, 1)
        start = max(len(lines) - options.prefix_lines, 0) // step * step
        self._before = "".join(lines[start:])
        # One line more: the first piece of the suffix is the end of the cursor's own line.
        self._suffix = "".join(lines_of(edit.ending + edit.after)[: options.suffix_lines + 1])
        self._context = edit.context[len(edit.context) - options.context :] if options.context else ()

    def at(self, typed: str) -> FimInput:
        """The request once `typed` stands in the buffer."""
        return FimInput(self._before + typed, self._suffix, self._edit.path, context=self._context)
