"""Typing replay: a simulated developer types real edits and gets completions, the central benchmark.

`load_edits` picks edits between two snapshots, `replay` types them against a server,
`ReplayResult.figures` tells.
"""

from codex.evals.replay.edits import Edit
from codex.evals.replay.options import Latency, ReplayOptions
from codex.evals.replay.rows import EditRow, Outcome, RequestEvent
from codex.evals.replay.run import ReplayResult, replay
from codex.evals.replay.selection import Selection, load_edits
from codex.evals.replay.sinks import open_sink
from codex.evals.replay.sources import Snapshot, folder_snapshot, package_snapshot, revision_snapshot

__all__ = [
    "Edit",
    "EditRow",
    "Latency",
    "Outcome",
    "ReplayOptions",
    "ReplayResult",
    "RequestEvent",
    "Selection",
    "Snapshot",
    "folder_snapshot",
    "load_edits",
    "open_sink",
    "package_snapshot",
    "replay",
    "revision_snapshot",
]
