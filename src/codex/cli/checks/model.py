"""Checks of the model on disk. Knows no server."""

from __future__ import annotations

from pathlib import Path

from codex.cli.checks.diagnosis import Diagnosis, broken, ok, warning
from codex.engine.models import CATALOGUE, Listed, list_prepared
from codex.settings import Settings

_NAME = "model"


def prepared(settings: Settings) -> Diagnosis:
    """Whether the model that these settings serve is ready on disk. Sizes are compared; `model verify` reads
    every byte."""
    if settings.backend == "mock":
        return ok(_NAME, "none needed for the mock backend")
    if settings.model not in CATALOGUE:
        return _by_path(Path(settings.model))
    found = [each for each in list_prepared(settings.models_dir) if each.model.name == settings.model]
    if not found:
        fix = f"codex-cli model pull {settings.model} (serve does it too, at its first start)"
        return warning(_NAME, f"{settings.model} is not prepared in {settings.models_dir}", fix)
    return _judge(found, settings)


def _judge(found: list[Listed], settings: Settings) -> Diagnosis:
    damaged = [each for each in found if each.problem]
    if damaged:
        fix = f"codex-cli model remove {settings.model}, then codex-cli model pull {settings.model}"
        return broken(_NAME, damaged[0].problem, fix)
    quants = ", ".join(each.model.quant for each in found)
    return ok(_NAME, f"{settings.model} is prepared ({quants}) in {settings.models_dir}")


def _by_path(path: Path) -> Diagnosis:
    if path.exists():
        return ok(_NAME, f"{path} is served by path")
    known = ", ".join(CATALOGUE)
    return broken(_NAME, f"{path} is neither a file nor in the catalogue ({known})", "check CODEX_MODEL")
