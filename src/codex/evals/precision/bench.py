"""The benchmarks that precisions are compared on, behind one door. Knows no server and no precision."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from codex.evals.codegen import CodegenOptions, PromptStyle, codegen_report, run_codegen
from codex.evals.codegen import answer_settings as codegen_settings
from codex.evals.data import Loaded
from codex.evals.fill import FillOptions, fill_report, run_fill
from codex.evals.fill import answer_settings as fill_settings
from codex.evals.humaneval import humaneval_tasks
from codex.evals.infilling import santacoder_tasks
from codex.evals.journal import Journal, Record
from codex.evals.mbpp import mbpp_tasks
from codex.evals.precision.wordings import Reworded, Wording
from codex.evals.report import JsonValue, Report
from codex.evals.run import Tick
from codex.evals.scoring import Scorer
from codex.evals.tasks import CodeTask, FillTask, spread

DataSetName = Literal["humaneval", "humaneval+", "mbpp", "mbpp+", "santacoder"]


_STYLES: Mapping[Wording, PromptStyle] = {
    "begun": "begun",
    "qwen": "chat",
    "no-system": "chat",
    "evalplus": "chat",
    "completion": "completion",
}
"""What the run is told; the target does the rest."""


class Bench(Protocol):
    """One benchmark with its tasks chosen. `measure` names the figure that precisions are judged by."""

    @property
    def loaded(self) -> Loaded: ...
    @property
    def total(self) -> int: ...
    @property
    def measure(self) -> str: ...

    def settings(self, wording: Wording) -> Mapping[str, JsonValue]:
        """What changes an answer."""
        ...

    async def run(
        self, target: Reworded, journal: Journal, wording: Wording, tick: Tick
    ) -> dict[str, Record]: ...

    def report(self, records: dict[str, Record], wording: Wording) -> Report: ...


@dataclass(frozen=True, slots=True)
class CodegenBench:
    kind: str
    loaded: Loaded
    tasks: tuple[CodeTask, ...]
    options: CodegenOptions
    measure: str = "pass_at_1"

    @property
    def total(self) -> int:
        return len(self.tasks)

    def settings(self, wording: Wording) -> Mapping[str, JsonValue]:
        return codegen_settings(self.loaded.name, self._options(wording)) | {"wording": wording}

    async def run(
        self, target: Reworded, journal: Journal, wording: Wording, tick: Tick
    ) -> dict[str, Record]:
        return await run_codegen(
            self.tasks,
            target,
            Scorer(),
            journal,
            self._options(wording),
            tokenizer=target.tokenizer,
            tick=tick,
        )

    def report(self, records: dict[str, Record], wording: Wording) -> Report:
        return codegen_report(self.kind, self.tasks, records, self._options(wording), {}, 0.0)

    def _options(self, wording: Wording) -> CodegenOptions:
        return replace(self.options, prompt=_STYLES[wording])


@dataclass(frozen=True, slots=True)
class FillBench:
    """A gap has one wording only."""

    loaded: Loaded
    tasks: tuple[FillTask, ...]
    options: FillOptions
    measure: str = "exact_match"

    @property
    def total(self) -> int:
        return len(self.tasks)

    def settings(self, wording: Wording) -> Mapping[str, JsonValue]:
        return fill_settings(self.loaded.name, self.options)

    async def run(
        self, target: Reworded, journal: Journal, wording: Wording, tick: Tick
    ) -> dict[str, Record]:
        return await run_fill(self.tasks, target, None, journal, self.options, tick=tick)

    def report(self, records: dict[str, Record], wording: Wording) -> Report:
        return fill_report("santacoder", self.tasks, records, {}, 0.0)


def make_bench(name: DataSetName, data: str | None, *, limit: int | None, concurrency: int) -> Bench:
    """The benchmark `name` with at most `limit` tasks.

    Raises EvaluationError: the data is not there or not what it should be.
    """
    if name == "santacoder":
        loaded, gaps = santacoder_tasks(data)
        return FillBench(loaded, spread(gaps, limit), FillOptions(one_line=True, concurrency=concurrency))
    tasks_of = humaneval_tasks if name.startswith("humaneval") else mbpp_tasks
    loaded, tasks = tasks_of(data, plus=name.endswith("+"))
    kind = name.removesuffix("+")
    return CodegenBench(kind, loaded, spread(tasks, limit), CodegenOptions(concurrency=concurrency))
