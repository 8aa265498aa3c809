"""Two versions of a code base as plain text in memory: released packages, folders, git revisions.

An archive is read, never unpacked: no path in it can reach the disk. Knows no diff and no typist.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from filelock import FileLock
from platformdirs import user_cache_path

from codex.errors import EvaluationError
from codex.evals.replay.languages import MAX_FILE_BYTES, typed_by_path, typed_by_text

Snapshot = dict[str, str]
"""Path with forward slashes to text with \\n line ends; only files that someone types."""

MAX_FILES = 20_000
MAX_BYTES = 200_000_000
"""Bounds on what is read from one version, so that a hostile archive cannot fill the memory."""


def package_snapshot(name: str, version: str, *, cache_dir: Path | None = None) -> Snapshot:
    """A released version of a package, fetched by the user's own pip and kept in the cache.

    A wheel is preferred. For a source distribution pip runs the package's own metadata step, as in any
    `pip download`; its code is not run by us.

    Raises:
        EvaluationError: pip could not deliver it, or the archive holds no code.
    """
    folder = (cache_dir or user_cache_path("codex") / "packages") / f"{name}-{version}"
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / ".lock"):
        archive = _archive_in(folder) or _download(name, version, folder)
    return _read(_archive_files(archive), f"{name} {version}")


def folder_snapshot(folder: Path) -> Snapshot:
    """Raises EvaluationError: no such folder, or no code in it."""
    if not folder.is_dir():
        raise EvaluationError(f"{folder} is not a folder")
    return _read(_folder_files(folder), str(folder))


def revision_snapshot(repository: Path, revision: str) -> Snapshot:
    """The files of a git revision, read from the object store; the work tree is not touched.

    Raises:
        EvaluationError: not a repository, no such revision, or no code in it.
    """
    return _read(_revision_files(repository, revision), f"{repository} at {revision}")


def _read(files: Iterator[tuple[str, int, bytes]], what: str) -> Snapshot:
    snapshot: Snapshot = {}
    total = 0
    for path, size, raw in files:
        total += size
        if len(snapshot) >= MAX_FILES or total > MAX_BYTES:
            raise EvaluationError(f"{what} is larger than {MAX_FILES} files or {MAX_BYTES} bytes of code")
        text = _text(raw)
        if text is not None and typed_by_text(text):
            snapshot[path] = text
    if not snapshot:
        raise EvaluationError(f"{what} holds no source file in a language that is known here")
    return snapshot


def _text(raw: bytes) -> str | None:
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text.replace("\r\n", "\n").replace("\r", "\n")


def _wanted(path: str, size: int) -> bool:
    return size <= MAX_FILE_BYTES and typed_by_path(path)


def _archive_in(folder: Path) -> Path | None:
    found = sorted(folder.glob("*.whl")) + sorted(folder.glob("*.tar.gz")) + sorted(folder.glob("*.zip"))
    return found[0] if found else None


def _download(name: str, version: str, folder: Path) -> Path:
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    where = ["--no-deps", "--dest", str(folder), f"{name}=={version}"]
    problem = ""
    for kind in ("--only-binary=:all:", "--no-binary=:all:"):
        done = subprocess.run([*pip, kind, *where], capture_output=True, text=True, check=False)
        found = _archive_in(folder)
        if done.returncode == 0 and found is not None:
            return found
        problem = done.stderr.strip()
    raise EvaluationError(f"pip could not deliver {name}=={version}: {problem[-500:]}")


def _archive_files(archive: Path) -> Iterator[tuple[str, int, bytes]]:
    try:
        if archive.name.endswith(".tar.gz"):
            yield from _tar_files(archive)
        else:
            yield from _zip_files(archive)
    except (tarfile.TarError, zipfile.BadZipFile, OSError) as error:
        raise EvaluationError(f"{archive} is not a readable archive, delete it: {error}") from error


def _zip_files(archive: Path) -> Iterator[tuple[str, int, bytes]]:
    with zipfile.ZipFile(archive) as opened:
        for entry in opened.infolist():
            if not entry.is_dir() and _wanted(entry.filename, entry.file_size):
                yield entry.filename, entry.file_size, opened.read(entry)


def _tar_files(archive: Path) -> Iterator[tuple[str, int, bytes]]:
    with tarfile.open(archive, "r:gz") as opened:
        for member in opened:
            # The first folder of a source distribution is name-version: it would make every path differ.
            path = "/".join(PurePosixPath(member.name).parts[1:])
            content = opened.extractfile(member) if member.isfile() and _wanted(path, member.size) else None
            if content is not None:
                yield path, member.size, content.read(MAX_FILE_BYTES)


def _folder_files(folder: Path) -> Iterator[tuple[str, int, bytes]]:
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            file = Path(parent, name)
            path = file.relative_to(folder).as_posix()
            if file.is_file() and not file.is_symlink() and _wanted(path, file.stat().st_size):
                yield path, file.stat().st_size, file.read_bytes()


def _revision_files(repository: Path, revision: str) -> Iterator[tuple[str, int, bytes]]:
    # --end-of-options: a revision that begins with a dash must not become an option of git.
    listed = _git(repository, "ls-tree", "-r", "-z", "--long", "--end-of-options", revision)
    for line in listed.decode("utf-8", errors="replace").split("\0"):
        head, _, path = line.partition("\t")
        fields = head.split()
        if len(fields) != 4 or fields[1] != "blob" or fields[0] == "120000":
            continue
        if _wanted(path, int(fields[3])):
            yield path, int(fields[3]), _git(repository, "cat-file", "blob", fields[2])


def _git(repository: Path, *arguments: str) -> bytes:
    try:
        done = subprocess.run(["git", "-C", str(repository), *arguments], capture_output=True, check=False)
    except FileNotFoundError as error:
        raise EvaluationError("git is not installed: use --from and --to with two folders") from error
    if done.returncode != 0:
        problem = done.stderr.decode(errors="replace").strip()
        raise EvaluationError(f"git {arguments[0]} failed in {repository}: {problem}")
    return done.stdout
