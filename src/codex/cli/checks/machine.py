"""Checks of the machine: interpreter, libraries, processor, memory, disk. Knows no server."""

from __future__ import annotations

import platform
import shutil
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import psutil

from codex.cli.checks.diagnosis import Diagnosis, broken, ok, warning
from codex.settings import Settings

OLDEST_PYTHON = (3, 11)
WEIGHTS_ROOM_BYTES = 3 << 30
"""Room for the download, the requantised file and the prepared model of the default entry at once."""
WORKING_BYTES = 1 << 30
"""Weights of the default model in int8 and what the engine needs beside them."""

VECTOR_FLAGS = ("amx_int8", "avx512_vnni", "avx_vnni", "avx512f", "avx512_bf16", "amx_bf16", "avx2")
"""What decides the speed of int8 and 16-bit products, as /proc/cpuinfo names it."""


def python(_: Settings) -> Diagnosis:
    found = platform.python_version()
    if sys.version_info < OLDEST_PYTHON:
        return broken("python", found, "install Python 3.11 or newer and make the environment again")
    return ok("python", found)


def libraries(settings: Settings) -> Diagnosis:
    """Imports the engine's library: a wheel for another machine shows itself only then."""
    if settings.backend == "mock":
        return ok("engine library", "none needed for the mock backend")
    try:
        import openvino_genai  # noqa: F401
    except ImportError as error:
        fix = "make venv installs it; its wheels are for Linux, Windows and macOS"
        return broken("engine library", f"openvino_genai cannot be imported: {error}", fix)
    names = ("codex-server", "openvino", "openvino-genai", "tokenizers")
    return ok("engine library", ", ".join(f"{name} {_version(name)}" for name in names))


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def cpu_flags(cpuinfo: Path = Path("/proc/cpuinfo")) -> frozenset[str]:
    """Vector flags of this processor; empty where the system does not tell (not Linux, not x86)."""
    try:
        lines = cpuinfo.read_text().splitlines()
    except OSError:
        return frozenset()
    flags = next((line for line in lines if line.startswith("flags")), "")
    return frozenset(VECTOR_FLAGS) & frozenset(flags.partition(":")[2].split())


def processor(_: Settings) -> Diagnosis:
    return judge_processor(cpu_flags(), psutil.cpu_count(logical=False) or psutil.cpu_count() or 1)


def judge_processor(flags: frozenset[str], cores: int) -> Diagnosis:
    """What speed to expect. The figures behind the words stand in docs/benchmarks.md."""
    shown = f"{cores} cores, {', '.join(sorted(flags)) or 'no known vector flags'}"
    if flags & {"amx_int8", "avx512_vnni", "avx_vnni"}:
        return ok("processor", f"{shown}: int8 products in hardware, full speed")
    if "avx2" in flags:
        fix = "keep prompts short (2,000 tokens), or move to a processor with AVX-VNNI, AVX512-VNNI or AMX"
        return warning(
            "processor", f"{shown}: no int8 products in hardware, prefill is several times slower", fix
        )
    fix = "expect low speed; measure this machine with codex-cli bench engine"
    return warning("processor", shown, fix)


def memory(settings: Settings) -> Diagnosis:
    free = psutil.virtual_memory().available
    needed = settings.kv_cache_bytes + WORKING_BYTES
    kv_cache = f"{settings.kv_cache_bytes / 1e9:.1f} for the KV cache"
    found = f"{free / 1e9:.1f} GB available, {needed / 1e9:.1f} GB wanted ({kv_cache})"
    if free < WORKING_BYTES:
        return broken("memory", found, "close something: the weights alone do not fit")
    if free < needed:
        return warning("memory", found, "lower CODEX_KV_CACHE_BYTES, or serve --kv-cache 512MB")
    return ok("memory", found)


def disk(settings: Settings) -> Diagnosis:
    folder = settings.models_dir
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    free = shutil.disk_usage(existing).free
    found = f"{free / 1e9:.1f} GB free for {folder}"
    if free >= WEIGHTS_ROOM_BYTES:
        return ok("disk", found)
    fix = "free some room, or point CODEX_MODELS_DIR at another disk"
    if any(folder.glob("*/manifest.json")):
        return warning("disk", f"{found}: enough to serve what is prepared, not to prepare more", fix)
    return broken("disk", f"{found}, {WEIGHTS_ROOM_BYTES / 1e9:.1f} GB are needed to prepare a model", fix)
