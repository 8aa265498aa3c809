"""Versions of a code base come from archives, folders and git, and nothing in them reaches the disk."""

from __future__ import annotations

import io
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest

from codex.errors import EvaluationError
from codex.evals.replay import folder_snapshot, package_snapshot, revision_snapshot
from codex.evals.replay import sources as module


def write_wheel(path: Path, files: dict[str, str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)


def write_sdist(path: Path, files: dict[str, str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w:gz") as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
        link = tarfile.TarInfo("demo-1/link.py")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)


def test_a_wheel_in_the_cache_is_read_without_pip(tmp_path: Path) -> None:
    files = {"demo/a.py": "x = 1\r\n", "demo-1.dist-info/b.py": "y = 1\n", "demo/data.json": "{}"}
    write_wheel(tmp_path / "demo-1" / "demo-1-py3-none-any.whl", files)
    assert package_snapshot("demo", "1", cache_dir=tmp_path) == {"demo/a.py": "x = 1\n"}


def test_a_source_distribution_loses_its_top_folder_and_its_links(tmp_path: Path) -> None:
    files = {"demo-1/src/a.py": "x = 1\n", "../../outside.py": "evil = 1\n"}
    write_sdist(tmp_path / "demo-1" / "demo-1.tar.gz", files)
    assert "src/a.py" in package_snapshot("demo", "1", cache_dir=tmp_path)
    assert "link.py" not in package_snapshot("demo", "1", cache_dir=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["demo-1"]


def test_pip_fetches_what_the_cache_lacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []

    def pip(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        asked.append(command)
        kept = Path(command[command.index("--dest") + 1])
        if "--no-binary=:all:" in command:
            write_sdist(kept / "demo-2.tar.gz", {"demo-2/a.py": "x = 2\n"})
            return subprocess.CompletedProcess(command, 0, "", "")
        return subprocess.CompletedProcess(command, 1, "", "no wheel")

    monkeypatch.setattr(subprocess, "run", pip)
    assert package_snapshot("demo", "2", cache_dir=tmp_path) == {"a.py": "x = 2\n"}
    assert package_snapshot("demo", "2", cache_dir=tmp_path) == {"a.py": "x = 2\n"}
    assert len(asked) == 2
    assert all("--no-deps" in command and "demo==2" in command for command in asked)


def test_what_pip_says_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failed = subprocess.CompletedProcess([], 1, "", "no matching distribution")
    monkeypatch.setattr(subprocess, "run", lambda *_args, **_kwargs: failed)
    with pytest.raises(EvaluationError, match="no matching distribution"):
        package_snapshot("demo", "3", cache_dir=tmp_path)


def test_a_damaged_archive_is_named(tmp_path: Path) -> None:
    file = tmp_path / "demo-1" / "demo-1-py3-none-any.whl"
    file.parent.mkdir()
    file.write_bytes(b"not a zip")
    with pytest.raises(EvaluationError, match=r"demo-1-py3-none-any\.whl is not a readable archive"):
        package_snapshot("demo", "1", cache_dir=tmp_path)


def test_a_version_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_BYTES", 10)
    write_wheel(tmp_path / "demo-1" / "d.whl", {"a.py": "x = 1\n", "b.py": "y = 1\n"})
    with pytest.raises(EvaluationError, match="is larger than"):
        package_snapshot("demo", "1", cache_dir=tmp_path)


def test_a_folder_is_read_without_hidden_parts_and_foreign_text(tmp_path: Path) -> None:
    for name, raw in {
        "a.py": b"x = 1\n",
        ".git/b.py": b"y\n",
        "latin.py": b"\xe9\n",
        "nul.py": b"\0\n",
    }.items():
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(raw)
    assert folder_snapshot(tmp_path) == {"a.py": "x = 1\n"}


def test_a_folder_without_code_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(EvaluationError, match="holds no source file"):
        folder_snapshot(tmp_path)


def git(folder: Path, *arguments: str) -> None:
    who = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", "-C", str(folder), *who, *arguments], check=True, capture_output=True)


def test_git_revisions_are_read_from_the_object_store(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main")
    for number in (1, 2):
        (tmp_path / "ä file.py").write_text(f"x = {number}\n")
        git(tmp_path, "add", ".")
        git(tmp_path, "commit", "-qm", str(number))
    (tmp_path / "ä file.py").write_text("uncommitted = 1\n")
    assert revision_snapshot(tmp_path, "HEAD~1") == {"ä file.py": "x = 1\n"}
    assert revision_snapshot(tmp_path, "main") == {"ä file.py": "x = 2\n"}


@pytest.mark.parametrize("revision", ["nowhere", "--output=x"])
def test_a_revision_that_is_none_is_a_clear_error(tmp_path: Path, revision: str) -> None:
    git(tmp_path, "init", "-q")
    with pytest.raises(EvaluationError, match="git ls-tree failed"):
        revision_snapshot(tmp_path, revision)
    assert not (tmp_path / "x").exists()
