"""Memory of the server that a measurement started, as the system tells it. Knows it by its command line."""

from __future__ import annotations

from pathlib import Path

import psutil


def server_peak_bytes() -> int | None:
    """Peak resident memory of our own child that serves and of everything it started, summed.

    None where the system does not tell (only Linux keeps the peak) or no such child lives.
    """
    peaks = [
        _peak_bytes(process)
        for child in psutil.Process().children()
        if _serves(child)
        for process in (child, *child.children(recursive=True))
    ]
    known = [peak for peak in peaks if peak is not None]
    return sum(known) if known else None


def _serves(process: psutil.Process) -> bool:
    try:
        return process.cmdline()[-1:] == ["serve"]
    except psutil.NoSuchProcess:
        return False


def _peak_bytes(process: psutil.Process) -> int | None:
    try:
        status = Path(f"/proc/{process.pid}/status").read_text()
    except OSError:
        return None
    found = next((line for line in status.splitlines() if line.startswith("VmHWM:")), None)
    return int(found.split()[1]) * 1024 if found else None
