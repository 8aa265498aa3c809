"""Weights from the Hugging Face hub at a pinned revision. Knows no other source."""

from __future__ import annotations

import queue
import shutil
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
from huggingface_hub import constants, hf_hub_download, hf_hub_url, try_to_load_from_cache
from huggingface_hub.utils.tqdm import tqdm as hub_tqdm

from codex.engine.models.catalogue import CatalogueEntry, HubFile
from codex.engine.models.progress import Progress
from codex.errors import ModelUnavailable


@dataclass(frozen=True, slots=True)
class Hub:
    """The user's own hub cache first, then the network unless `HF_HUB_OFFLINE` is set.

    `endpoint` None means the library's own (`HF_ENDPOINT` or the public hub). `patience_s` bounds how long
    the hub may take to say that the file is there.
    """

    endpoint: str | None = None
    patience_s: float = 3.0
    name: str = "hub"

    def fetch(self, entry: CatalogueEntry, folder: Path, progress: Progress) -> Path:
        file = entry.hub
        if file is None:
            raise ModelUnavailable("not on the hub")
        cached = try_to_load_from_cache(file.repository, file.filename, revision=file.revision)
        if isinstance(cached, str):
            return Path(shutil.copyfile(cached, folder / file.filename))
        if constants.HF_HUB_OFFLINE:
            raise ModelUnavailable("HF_HUB_OFFLINE is set and the hub's cache does not hold it")
        _require_reachable(hf_url(file, self.endpoint), self.patience_s)
        progress.stage("download", entry.bytes)
        return self._download(file, folder, progress)

    def _download(self, file: HubFile, folder: Path, progress: Progress) -> Path:
        try:
            path = hf_hub_download(
                file.repository,
                file.filename,
                revision=file.revision,
                local_dir=folder,
                etag_timeout=self.patience_s,
                endpoint=self.endpoint,
                token=False,  # the repositories are public: no credential of the user's leaves the machine
                tqdm_class=_bar_for(progress),
            )
        except (OSError, ValueError, httpx2.HTTPError) as error:
            raise ModelUnavailable(f"download failed: {error}") from error
        return Path(path)


def hf_url(file: HubFile, endpoint: str | None) -> str:
    return hf_hub_url(file.repository, file.filename, revision=file.revision, endpoint=endpoint)


def _require_reachable(url: str, patience_s: float) -> None:
    """One request before the library is let loose: it retries for 23 s when a name does not resolve.

    The request runs in a daemon thread, because name resolution obeys no timeout.
    """
    answers: queue.Queue[str] = queue.Queue(maxsize=1)

    def ask() -> None:
        try:
            status = httpx2.head(url, timeout=patience_s).status_code
            answers.put("" if status < 400 else f"answered {status}")
        except httpx2.HTTPError as error:
            answers.put(f"cannot be reached ({error})")

    threading.Thread(target=ask, name="hub-probe", daemon=True).start()
    try:
        problem = answers.get(timeout=patience_s)
    except queue.Empty:
        problem = f"gave no answer within {patience_s:g} s"
    if problem:
        raise ModelUnavailable(f"{httpx2.URL(url).host} {problem}")


def _bar_for(progress: Progress) -> type[hub_tqdm]:
    """A class of the library's bar kind that draws nothing and tells `progress`."""

    class Bar(hub_tqdm):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **{**kwargs, "disable": True})  # type: ignore[no-untyped-call]
            progress.advance(int(kwargs.get("initial") or 0))

        def update(self, n: float | None = 1) -> bool | None:
            progress.advance(int(n or 0))
            return None

    return Bar
