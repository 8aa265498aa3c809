"""What `serve` prints once it can answer: two lines to paste. Knows only addresses."""

from __future__ import annotations

import json

_PREFIX = 'def is_even(number):\n    """Whether number is divisible by two."""\n    return '
_SUFFIX = "\n\n\nprint(is_even(4))\n"
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}


def base_url(host: str, port: int) -> str:
    """An address that works on this machine, also when the server listens on all of them."""
    reachable = _EVERYWHERE.get(host, host)
    return f"http://[{reachable}]:{port}" if ":" in reachable else f"http://{reachable}:{port}"


def banner(url: str, model: str) -> str:
    body = {"prompt": _PREFIX, "suffix": _SUFFIX, "language": "python", "max_tokens": 32}
    curl = f"curl -s {url}/v1/completions -H 'Content-Type: application/json' -d '{json.dumps(body)}'"
    prefix, suffix = json.dumps(_PREFIX), json.dumps(_SUFFIX)
    python = (
        "from codex import CodexClient\n"
        f'with CodexClient("{url}") as codex:\n'
        f'    print(codex.complete({prefix}, suffix={suffix}, language="python").text)'
    )
    return f"\nServing {model} at {url}\n\nTry it:\n\n{curl}\n\nor in Python:\n\n{python}\n"
