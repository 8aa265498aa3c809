"""The id of what is served: base weights, adapter and prompt template, as one digest. Knows no backend."""

from __future__ import annotations

import hashlib
import json

from codex.types import ReleaseId


def release_id(
    base_digest: str, *, quant: str, template: str, adapter_digest: str | None = None
) -> ReleaseId:
    """Changes whenever an answer could. `quant` is the precision that the base is served with."""
    parts = json.dumps([base_digest, quant, adapter_digest, template])
    return ReleaseId(hashlib.sha256(parts.encode()).hexdigest())
