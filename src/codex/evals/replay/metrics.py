"""Figures of a replay from the rows of its edits, over any part of them. Knows no server and no text.

Definitions, each a ratio of sums over edits:
- characters_saved_share: characters of accepted suggestions, less one key for each acceptance, by all
  characters that had to be typed. Indentation that an editor gives for free counts in neither. Accepted
  text is kept, since only right lines are accepted.
- partial_saved_share: what taking the right words (>= 4 characters) of the rejected suggestions would have
  saved on top.
- shown_rate: suggestions visible before the next key by requests fired. acceptance_rate: accepted by shown.
- exact_match: lines whose first request answers the rest of the line exactly, by lines that had such a
  request; late or not.
- latency_ms: from firing to the first whole line, of shown suggestions. latency_all_ms: of every request
  fired and sent, with the superseded ones as censored observations (Kaplan-Meier), None where too few were
  awaited.
- answered_within_50_ms_share, ..._100_...: by requests fired.
- engine_tokens_per_accepted_character: prompt and answer tokens that the server reported, and the pieces
  received of superseded requests, by accepted characters. Tokens from a prefix cache are in it: servers do
  not report them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from scipy.stats import CensoredData, ecdf

from codex.evals.replay.rows import EditRow
from codex.evals.report import JsonValue

PERCENTILES = (50, 95, 99)


def figures_of(rows: Sequence[EditRow]) -> dict[str, JsonValue]:
    """Every figure overall, and the main ones by language and by file."""
    return {
        **summary(rows),
        "by_language": _grouped(rows, lambda row: row.language),
        "by_file": _grouped(rows, lambda row: row.path),
    }


def summary(rows: Sequence[EditRow]) -> dict[str, JsonValue]:
    """Every figure over these rows. A share of nothing is None."""
    fired = sum(row.fired for row in rows)
    shown = sum(row.shown for row in rows)
    characters = sum(row.characters for row in rows)
    accepted_characters = sum(row.accepted_characters for row in rows)
    answered = [ms for row in rows for ms in row.answered_ms]
    prompt, completion = sum(row.prompt_tokens for row in rows), sum(row.completion_tokens for row in rows)
    return {
        "edits": len(rows),
        "characters_typed": characters,
        "characters_saved": sum(row.saved for row in rows),
        "characters_saved_share": _share(sum(row.saved for row in rows), characters),
        "partial_saved_share": _share(sum(row.partial_saved for row in rows), characters),
        "shown_rate": _share(shown, fired),
        "acceptance_rate": _share(sum(row.accepted for row in rows), shown),
        "exact_match": _share(sum(row.lines_exact for row in rows), sum(row.lines_asked for row in rows)),
        "latency_ms": _percentiles([ms for row in rows for ms in row.visible_ms]),
        "latency_all_ms": _censored_percentiles(answered, [ms for row in rows for ms in row.waited_ms]),
        "answered_within_50_ms_share": _share(sum(ms <= 50 for ms in answered), fired),
        "answered_within_100_ms_share": _share(sum(ms <= 100 for ms in answered), fired),
        "engine_tokens_per_accepted_character": _share(prompt + completion, accepted_characters),
        "requests_fired": fired,
        "requests_cancelled": sum(row.superseded + row.not_sent for row in rows),
        "requests_not_sent": sum(row.not_sent for row in rows),
        "requests_failed": sum(row.failed for row in rows),
        "keys_debounced": sum(row.debounced for row in rows),
        "suggestions_shown": shown,
        "suggestions_accepted": sum(row.accepted for row in rows),
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "lines_asked": sum(row.lines_asked for row in rows),
        "typing_minutes": sum(row.virtual_ms for row in rows) / 60_000,
    }


def _grouped(rows: Iterable[EditRow], key: Callable[[EditRow], str]) -> dict[str, JsonValue]:
    groups: dict[str, list[EditRow]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return {name: summary(groups[name]) for name in sorted(groups)}


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def _percentiles(values: Sequence[float]) -> dict[str, JsonValue]:
    found = np.percentile(values, PERCENTILES).tolist() if values else [None] * len(PERCENTILES)
    return {f"p{percentile}": value for percentile, value in zip(PERCENTILES, found, strict=True)}


def _censored_percentiles(seen: Sequence[float], given_up: Sequence[float]) -> dict[str, JsonValue]:
    if not seen:
        return {f"p{percentile}": None for percentile in PERCENTILES}
    values = np.array([*seen, *given_up])
    censored = np.array([False] * len(seen) + [True] * len(given_up))
    distribution = ecdf(CensoredData.right_censored(values, censored)).cdf
    found: dict[str, JsonValue] = {}
    for percentile in PERCENTILES:
        reached = np.flatnonzero(distribution.probabilities >= percentile / 100)
        found[f"p{percentile}"] = float(distribution.quantiles[reached[0]]) if reached.size else None
    return found
