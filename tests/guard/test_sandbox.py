"""Hostile programs end, harm nothing and leave no process behind."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from codex.errors import SandboxUnavailable
from codex.guard import sandbox as sandbox_module
from codex.guard.sandbox import Limits, Sandbox, SandboxResult, Status

_odd = itertools.count((os.getpid() % 1000) * 4096 + 1)


@pytest.fixture
def limits() -> Limits:
    """The defaults, with a memory limit that no other run on this machine has: it marks our processes."""
    return Limits(memory_bytes=(512 << 20) + next(_odd))


def alive(limits: Limits) -> list[int]:
    """Processes of runs with these limits, in or out of the cell, daemons that left their group included."""
    mark = f'"RLIMIT_AS": {limits.memory_bytes},'
    found = []
    for process in psutil.process_iter():
        try:
            if mark in " ".join(process.cmdline()) and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
        except psutil.Error:
            continue
    return found


def wait_until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, f"never happened: {what}"
        time.sleep(0.02)


HOSTILE: dict[str, tuple[str, set[Status]]] = {
    "endless_loop": ("while True: pass", {"timeout"}),
    "fork_bomb": ("import os\nwhile True:\n  try: os.fork()\n  except OSError: pass", {"timeout"}),
    "10_gb_allocation": ("x = bytearray(10 << 30)", {"memory"}),
    "15_processes_of_200_mb": (
        "import os, time\nfor _ in range(14):\n  if os.fork() == 0: break\n"
        "x = bytearray(b'x') * (200 << 20)\ntime.sleep(60)",
        {"memory"},
    ),
    "product_blow_up": (
        "import itertools\nlist(itertools.product(range(1000), repeat=5))",
        {"memory", "timeout"},
    ),
    "endless_stdout": ("while True: print('x' * 1000)", {"killed"}),
    "endless_stderr": ("import sys\nwhile True: sys.stderr.write('x' * 1000)", {"killed"}),
    "catches_exit_and_interrupt": (
        "import sys\nwhile True:\n  try:\n    sys.exit(0)\n  except (SystemExit, KeyboardInterrupt): pass",
        {"timeout"},
    ),
    "ignores_every_signal": (
        "import signal\nfor n in range(1, 65):\n  try: signal.signal(n, signal.SIG_IGN)\n"
        "  except (OSError, ValueError): pass\nwhile True: pass",
        {"timeout"},
    ),
    "kills_its_parent": (
        "import os, signal\nfor p in (os.getppid(), 1, -1):\n  try: os.kill(p, signal.SIGKILL)\n"
        "  except OSError: pass\nwhile True: pass",
        {"timeout", "killed"},
    ),
    "daemon_out_of_its_group": (
        "import os, time\nif os.fork() == 0:\n  os.setsid()\n"
        "  if os.fork() == 0: time.sleep(600)\n  os._exit(0)\nprint('left one behind')",
        {"ok"},
    ),
    "daemon_that_closed_its_output": (
        "import os, time\nif os.fork() == 0:\n  os.setsid()\n"
        "  os.close(0); os.close(1); os.close(2)\n  time.sleep(600)",
        {"ok"},
    ),
    "silent_with_closed_output": (
        "import os, time\nos.close(1); os.close(2)\ntime.sleep(600)",
        {"timeout"},
    ),
    "one_file_fills_the_disk": (
        "f = open('/tmp/x', 'wb')\nwhile True: f.write(bytes(1 << 20))",
        {"failed", "killed"},
    ),
    "many_files_fill_the_disk": (
        "import itertools\nfor n in itertools.count(): open(f'/dev/shm/{n}', 'wb').write(bytes(1 << 20))",
        {"failed"},
    ),
    "reads_stdin": ("input()", {"failed"}),
    "calls_abort": ("import os\nos.abort()", {"killed"}),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_code_ends_and_leaves_no_process(name: str, limits: Limits) -> None:
    code, expected = HOSTILE[name]
    before = alive(limits)
    result = Sandbox(limits).run_python(code, timeout_s=1.5)
    assert before == []
    assert alive(limits) == []
    assert result.status in expected, result


def test_processes_are_seen_while_they_run(limits: Limits) -> None:
    """The counter that the other tests rely on does count."""
    caller = _caller(limits)
    try:
        wait_until(lambda: len(alive(limits)) >= 2, "the cell runs")
    finally:
        caller.kill()
        caller.wait()


def test_a_killed_caller_takes_its_run_along(limits: Limits) -> None:
    caller = _caller(limits)
    # bubblewrap outside, its first process inside, the code: before the third is there, the second may not
    # have asked the kernel yet to die with the first.
    wait_until(lambda: len(alive(limits)) >= 3, "the cell runs")
    os.kill(caller.pid, signal.SIGKILL)
    caller.wait()
    wait_until(lambda: alive(limits) == [], "the cell is gone")


def _caller(limits: Limits) -> subprocess.Popen[bytes]:
    program = (
        "from codex.guard.sandbox import Limits, Sandbox\n"
        f"Sandbox(Limits(memory_bytes={limits.memory_bytes})).run_python("
        "'import time; time.sleep(60)', timeout_s=60)"
    )
    return subprocess.Popen([sys.executable, "-c", program])


def _run(code: str, **keywords: str) -> SandboxResult:
    return Sandbox().run_python(code, **keywords)  # type: ignore[arg-type]


def test_plain_code_gives_its_output_and_status() -> None:
    good = _run("import sys\nprint(input() + '!')\nprint('warned', file=sys.stderr)", stdin="héllo\n")
    assert (good.status, good.exit_code, good.stdout, good.stderr) == ("ok", 0, "héllo!\n", "warned\n")
    bad = _run("raise SystemExit(3)")
    assert (bad.status, bad.exit_code) == ("failed", 3)
    assert "ZeroDivisionError" in _run("1/0").stderr


def test_long_input_and_output_pass_whole() -> None:
    text = "x" * 500_000
    result = _run("import sys\nprint(sys.stdin.read(), end='')", stdin=text)
    assert result.stdout == text


def test_files_are_there_and_cannot_be_changed() -> None:
    result = Sandbox().run_python(
        "print(open('/sandbox/data.bin', 'rb').read())\nopen('/sandbox/data.bin', 'wb')",
        files={"data.bin": b"\x00\xff"},
    )
    assert result.stdout == "b'\\x00\\xff'\n"
    assert result.status == "failed"


def test_there_is_no_network() -> None:
    code = (
        "import socket\nprint([name for _, name in socket.if_nameindex()])\n"
        "try: socket.create_connection(('192.0.2.1', 80), 1)\nexcept OSError as error: print(error.errno)"
    )
    assert _run(code).stdout == "['lo']\n101\n"


def test_the_file_system_is_sealed(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    hidden = [str(secret), "/etc/passwd", str(Path(__file__).parents[2] / "src")]
    code = f"""
import os
print([os.path.exists(path) for path in {hidden!r}])
for folder in ('/', '/dev', '/usr', '/sandbox', '/proc', {sys.prefix!r}, '/tmp'):
    try:
        open(folder + '/written', 'w').close()
        print('wrote', folder)
    except OSError:
        pass
"""
    assert _run(code).stdout == "[False, False, False]\nwrote /tmp\n"


def test_readable_paths_can_be_read_and_not_written(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / "given").write_text("given")
    box = Sandbox(readable=(tmp_path,))
    result = box.run_python(f"print(open({str(tmp_path / 'given')!r}).read())")
    assert result.stdout == "given\n", result.stderr
    assert box.run_python(f"open({str(tmp_path / 'new')!r}, 'w')").status == "failed"


def test_no_rights_and_no_environment_are_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("API_KEY", "planted")
    code = (
        "import os\nprint('API_KEY' in os.environ, os.getuid() == 0, len(os.environ) < 12)\n"
        "print([line.split()[1] for line in open('/proc/self/status') if line.startswith('CapEff')])\n"
        "try: os.setuid(0)\nexcept OSError: print('refused')"
    )
    assert _run(code).stdout == "False False True\n['0000000000000000']\nrefused\n"


def test_runs_are_repeatable() -> None:
    code = "print(list({'a', 'b', 'c', 'd', 'e'}))"
    assert len({_run(code).stdout for _ in range(3)}) == 1


def test_without_a_sandbox_code_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    sandbox_module._probe.cache_clear()
    monkeypatch.setattr("codex.guard.sandbox_bwrap.find_bwrap", lambda: "/bin/false")
    try:
        with pytest.raises(SandboxUnavailable, match="not run"):
            _run("print('ran')")
    finally:
        sandbox_module._probe.cache_clear()
