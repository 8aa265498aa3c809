"""Source text of a wanted length for benchmarks, always the same for the same number. Knows no engine."""

from __future__ import annotations

from codex.types import Tokenizer

_NOUNS = ("order", "account", "session", "ticket", "packet", "column", "branch", "sensor")
_VERBS = ("load", "merge", "check", "send", "count", "split", "index", "close")


def function(number: int) -> str:
    """A Python function, about 60 tokens; different numbers differ from the first line on."""
    noun, verb = _NOUNS[number % 8], _VERBS[number // 8 % 8]
    return (
        f"def {verb}_{noun}_{number}(store, key, limit={number % 97}):\n"
        f'    """{verb.capitalize()} the {noun} behind `key`, at most `limit` of them."""\n'
        f"    found = [each for each in store.{noun}s(key) if each.size > {number}]\n"
        f"    return sorted(found)[:limit]\n\n\n"
    )


def code(number: int, tokens: int, tokenizer: Tokenizer) -> tuple[str, list[int]]:
    """A file and its token ids, at least `tokens` long and cut there for the ids; no two numbers share a
    prefix, so nothing of it is in a cache."""
    text = f"# module {number}\n"
    ids = tokenizer.encode(text)
    step = number * 1000
    while len(ids) < tokens:
        missing = max(1, (tokens - len(ids)) // 80)
        more = "".join(function(step + each) for each in range(missing))
        step += missing
        text += more
        ids = tokenizer.encode(text)
    return text, ids[:tokens]
