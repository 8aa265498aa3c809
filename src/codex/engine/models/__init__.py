"""Models by name or path, made ready for an engine: catalogue, sources, preparation. Knows no prompt."""

from codex.engine.models.catalogue import CATALOGUE, CatalogueEntry
from codex.engine.models.manifest import PreparedModel
from codex.engine.models.prepare import prepare
from codex.engine.models.progress import Progress
from codex.engine.models.store import Listed, list_prepared, remove, verify
from codex.engine.models.weights import fetch_weights, weights_path

__all__ = [
    "CATALOGUE",
    "CatalogueEntry",
    "Listed",
    "PreparedModel",
    "Progress",
    "fetch_weights",
    "list_prepared",
    "prepare",
    "remove",
    "verify",
    "weights_path",
]
