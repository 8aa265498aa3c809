"""Models by name or path, made ready for an engine: catalogue, sources, preparation. Knows no prompt."""

from codex.engine.models.catalogue import CATALOGUE, CatalogueEntry
from codex.engine.models.manifest import PreparedModel
from codex.engine.models.prepare import prepare
from codex.engine.models.progress import Progress

__all__ = ["CATALOGUE", "CatalogueEntry", "PreparedModel", "Progress", "prepare"]
