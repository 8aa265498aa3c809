"""Troubles that no check can see from outside: symptom, cause, fix.

docs/operations.md has the same headings and tells more.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Remedy:
    cause: str
    fix: str


@dataclass(frozen=True, slots=True)
class Topic:
    """`symptom` is also the heading in docs/operations.md."""

    symptom: str
    remedies: tuple[Remedy, ...]


TOPICS = {
    "slow-first-response": Topic(
        "The first response is slow",
        (
            Remedy(
                "The prompt is long and new: prefill reads it at a few hundred tokens a second on a CPU.",
                "Send less text around the cursor; measure with codex-cli bench engine.",
            ),
            Remedy(
                "The prefix is not in the cache: text before the cursor changed, or the KV cache is full.",
                "Keep context files in a stable order; raise --kv-cache.",
            ),
            Remedy(
                "Others are being served: see codex_requests_waiting in /metrics.",
                "Lower max_tokens, use --preset throughput, or give the server more cores.",
            ),
            Remedy(
                "Another busy program shares the cores.",
                "Move it, or set CODEX_ENGINE_THREADS to the cores that are really free.",
            ),
        ),
    ),
    "interrupted-generation": Topic(
        "A long generation stops in the middle",
        (
            Remedy(
                "finish_reason is length: max_tokens was reached (128 by default).",
                "Ask for more max_tokens.",
            ),
            Remedy(
                "finish_reason is length and codex.stopped_by is timeout: the server's time ran out.",
                "Send timeout with the request, or raise CODEX_REQUEST_TIMEOUT_S.",
            ),
            Remedy(
                "The client raises ResponseTimeout: its own timeout was shorter.",
                "Use CodexClient(timeout=...) or codex-cli --timeout.",
            ),
            Remedy(
                "The error is engine_crashed: the engine's process died, often for lack of memory.",
                "It restarts by itself; lower --kv-cache and look into the server's log.",
            ),
            Remedy(
                "A proxy between client and server cuts long responses or collects them.",
                "Stream, and switch off response buffering in the proxy.",
            ),
        ),
    ),
    "lost-conversation": Topic(
        "The conversation forgets what was said",
        (
            Remedy(
                "The server keeps no conversation: each request has to carry all its turns.",
                "Send the earlier messages too, as codex-cli chat does.",
            ),
            Remedy(
                "The turns no longer fit the window: refused, or truncated where asked for.",
                "Start over with a summary; x-codex-truncated-tokens says how much was left out.",
            ),
        ),
    ),
    "weak-language": Topic(
        "Answers in one language are weak",
        (
            Remedy(
                "The language was not recognised, so clean-up and stop rules do not apply.",
                "Send path or language.",
            ),
            Remedy(
                "The default model is small and knows common languages best.",
                "Serve qwen2.5-coder-1.5b, and send open files of the same language as context_files.",
            ),
            Remedy(
                "High concurrency defaults sample at temperature 0.7.",
                "Use --preset single, or send temperature 0.2.",
            ),
        ),
    ),
}
