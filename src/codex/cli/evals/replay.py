"""`codex-cli eval replay`: a simulated developer types real edits and gets completions from a server."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import anyio
import click
import msgspec

from codex.cli.evals.common import FILE, TargetChoice, output_options, target_options
from codex.evals.journal import Journal, default_path
from codex.evals.local_server import local_server
from codex.evals.replay import (
    Edit,
    EditRow,
    Latency,
    ReplayOptions,
    ReplayResult,
    Selection,
    Snapshot,
    folder_snapshot,
    load_edits,
    open_sink,
    package_snapshot,
    replay,
    revision_snapshot,
)
from codex.evals.replay.reporting import markdown, report_of
from codex.evals.report import JsonValue, Report, machine_config, write_json
from codex.evals.run import Tick, progress_bar
from codex.evals.target import Target

_DIR = click.Path(exists=True, file_okay=False, path_type=Path)
_DEFAULT = ReplayOptions()
_TAKE = Selection()
_PLAIN = ("seed", "debounce_ms", "prefix_lines", "suffix_lines", "context", "max_tokens", "lines", "typists")


@dataclass(frozen=True, slots=True)
class _Job:
    """One run, read from the command line."""

    source: dict[str, str]
    selection: Selection
    options: ReplayOptions
    choice: TargetChoice
    events: Path | None
    feedback: bool
    rows: Path | None
    resume: bool

    def identity(self, served: dict[str, Any]) -> dict[str, JsonValue]:
        """What decides the result; a resumed run must have the same. `created` is when the server started."""
        model = {name: value for name, value in served.items() if name != "created"}
        return {
            "source": dict(self.source),
            "selection": asdict(self.selection) | {"languages": sorted(self.selection.languages)},
            "options": asdict(self.options) | {"latency": str(self.options.latency)},
            "target": self.choice.config(model, self.options.typists),
        }


@click.command("replay")
@click.option("--package", help="Package whose released versions are compared; fetched with pip.")
@click.option("--versions", metavar="OLD,NEW", help="Two versions of --package.")
@click.option("--from", "from_dir", type=_DIR, help="Folder with the old version.")
@click.option("--to", "to_dir", type=_DIR, help="Folder with the new version.")
@click.option("--repo", type=_DIR, help="Git repository whose revisions are compared.")
@click.option("--revisions", metavar="OLD,NEW", help="Two revisions of --repo.")
@click.option("--edits", default=_TAKE.edits, show_default=True, help="Edits to type, a seeded sample.")
@click.option("--max-lines", default=_TAKE.max_lines, show_default=True, help="Lines of one edit.")
@click.option("--languages", default="", help="Only these, comma-separated, such as python,go.")
@click.option("--seed", default=1, show_default=True, help="Decides the sample and the typist.")
@click.option("--speed", default=_DEFAULT.characters_per_s, show_default=True, help="Characters a second.")
@click.option(
    "--debounce-ms", default=_DEFAULT.debounce_ms, show_default=True, help="Quiet time before a request."
)
@click.option(
    "--latency", default="measured", show_default=True, help="measured, or fixed:MS to repeat exactly."
)
@click.option(
    "--prefix-lines", default=_DEFAULT.prefix_lines, show_default=True, help="Lines sent before the cursor."
)
@click.option(
    "--suffix-lines", default=_DEFAULT.suffix_lines, show_default=True, help="Lines sent after the cursor."
)
@click.option("--context", default=_DEFAULT.context, show_default=True, help="Other files sent, edited last.")
@click.option("--max-tokens", default=_DEFAULT.max_tokens, show_default=True, help="Length of an answer.")
@click.option("--lines", default=_DEFAULT.lines, show_default=True, help="Lines of a suggestion.")
@click.option(
    "--typists", default=_DEFAULT.typists, show_default=True, help="Developers typing at the same time."
)
@click.option("--every-request", is_flag=True, help="Also send requests that hardly come in time.")
@click.option("--cleanup/--no-cleanup", default=True, show_default=True, help="Our server's answer passes.")
@target_options
@click.option("--events", type=FILE, help="Write each request, answer and outcome as JSON lines.")
@click.option("--feedback", is_flag=True, help="Report outcomes to the server's /v1/feedback.")
@click.option("--rows", type=FILE, help="Where finished edits are kept as they come (JSON lines).")
@click.option("--resume", is_flag=True, help="Go on with the finished edits of an interrupted run.")
@output_options
def replay_(json_file: Path | None, html_file: Path | None, **given: Any) -> None:
    """Type real edits against a server and report what its completions save."""
    job = _job(given)
    edits = load_edits(*_snapshots(job.source), job.selection)
    with _served(job.choice, job.options.typists) as target:
        report = anyio.run(_run, job, target, edits)
    _hand_over(report, json_file, html_file)


def _job(given: dict[str, Any]) -> _Job:
    languages = frozenset(name.strip() for name in given["languages"].split(",") if name.strip())
    options = ReplayOptions(
        characters_per_s=given["speed"],
        latency=Latency.parse(given["latency"]),
        every_request=given["every_request"],
        cleanup=given["cleanup"],
        **{name: given[name] for name in _PLAIN},
    )
    return _Job(
        source=_source(given),
        selection=Selection(given["edits"], given["seed"], max_lines=given["max_lines"], languages=languages),
        options=options,
        choice=TargetChoice.taken_from(given),
        **{name: given[name] for name in ("events", "feedback", "rows", "resume")},
    )


def _source(given: dict[str, Any]) -> dict[str, str]:
    """Which two versions, as it stands in the report. Exactly one of the three ways."""
    pairs = {
        "package": (given["package"], given["versions"]),
        "folder": (given["from_dir"], given["to_dir"]),
        "repository": (given["repo"], given["revisions"]),
    }
    named = {kind: pair for kind, pair in pairs.items() if any(pair)}
    if len(named) != 1 or not all(next(iter(named.values()))):
        raise click.UsageError(
            "give exactly one of: --package with --versions, --from with --to, --repo with --revisions"
        )
    ((kind, (first, second)),) = named.items()
    if kind == "folder":
        return {"folder": "", "old": str(first), "new": str(second)}
    old, comma, new = (part.strip() for part in second.partition(","))
    if not (old and comma and new):
        raise click.UsageError(f"{second!r} does not name two versions: write OLD,NEW")
    return {kind: str(first), "old": old, "new": new}


def _snapshots(source: dict[str, str]) -> tuple[Snapshot, Snapshot]:
    def read(version: str) -> Snapshot:
        if "package" in source:
            return package_snapshot(source["package"], version)
        if "repository" in source:
            return revision_snapshot(Path(source["repository"]), version)
        return folder_snapshot(Path(version))

    return read(source["old"]), read(source["new"])


@contextmanager
def _served(choice: TargetChoice, typists: int) -> Iterator[Target]:
    """The target, not opened yet. It tries nothing again: refusals are counted, keys supersede requests."""
    if choice.url is not None:
        yield Target(choice.url, choice.model, fim=choice.fim, api_key=choice.api_key, retries=0)
        return
    with local_server(choice.settings(typists)) as url:
        yield Target(url, fim=choice.fim, retries=0)


async def _run(job: _Job, target: Target, edits: Sequence[Edit]) -> Report:
    async with target:
        identity = job.identity(await target.describe())
        path = job.rows or default_path("replay", identity)
        click.echo(f"finished edits: {path}", err=True)
        started = time.monotonic()
        with (
            Journal(path, identity, resume=job.resume) as journal,
            progress_bar("typing", len(edits)) as tick,
        ):
            result = await _typed(job, target, edits, journal, tick)
    wall_s = round(time.monotonic() - started, 1)
    return report_of(result, identity | {"wall_s": wall_s, "machine": machine_config()})


async def _typed(
    job: _Job, target: Target, edits: Sequence[Edit], journal: Journal, tick: Tick
) -> ReplayResult:
    finished = {id: msgspec.convert(record, EditRow) for id, record in journal.done.items()}
    for _ in finished:
        tick()
    feedback_url = target.base_url if job.feedback else None
    async with open_sink(job.events, feedback_url, api_key=job.choice.api_key) as sink:
        return await replay(
            edits, target, job.options, sink=sink, finished=finished, on_row=_keeper(journal, tick)
        )


def _keeper(journal: Journal, tick: Tick) -> Callable[[EditRow], None]:
    def keep(row: EditRow) -> None:
        journal.append(row.id, msgspec.to_builtins(row))
        tick()

    return keep


def _hand_over(report: Report, json_file: Path | None, html_file: Path | None) -> None:
    for table in report.tables:
        click.echo(markdown(table) + "\n")
    if json_file is not None:
        write_json(report, json_file)
    if html_file is not None:
        from codex.evals.html import write_html

        write_html(report, html_file)
