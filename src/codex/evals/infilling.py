"""HumanEval-infilling (arXiv 2207.14255) and SantaCoder FIM (arXiv 2301.03988) as tasks."""

from __future__ import annotations

from typing import Any

from codex.evals.data import Loaded, load
from codex.evals.scoring import Part, ScriptCheck
from codex.evals.tasks import FillTask

SPLITS = {"single-line": "infilling-single-line", "random-span": "infilling-random-span"}


def infilling_tasks(split: str, data: str | None = None) -> tuple[Loaded, tuple[FillTask, ...]]:
    """Tasks of `single-line` or `random-span` (light), each with the tests of its HumanEval task.

    Raises EvaluationError: the data is not there or not what it should be.
    """
    loaded = load(SPLITS[split], data)
    return loaded, tuple(_fill_task(row) for row in loaded.rows)


def _fill_task(row: dict[str, Any]) -> FillTask:
    test = ScriptCheck(f"{row['test']}\ncheck({row['entry_point']})")
    return FillTask(
        id=row["task_id"],
        language="python",
        prefix=row["prompt"],
        suffix=row["suffix"],
        middle=row["canonical_solution"],
        parts=(Part("base", test),),
    )


_LANGUAGES = {"py": "python", "js": "javascript", "java": "java"}


def santacoder_tasks(
    data: str | None = None, languages: tuple[str, ...] = ()
) -> tuple[Loaded, tuple[FillTask, ...]]:
    """Single lines to fill in. `languages` in the data set's own short names (py, js, java); empty: all.

    Raises EvaluationError: the data is not there or not what it should be.
    """
    loaded = load("santacoder", data)
    rows = [row for row in loaded.rows if not languages or row["language"] in languages]
    return loaded, tuple(
        FillTask(
            id=row["name"],
            language=_LANGUAGES.get(row["language"], row["language"]),
            prefix=row["prompt"],
            suffix=row["suffix"],
            middle=row["canonical_solution"],
        )
        for row in rows
    )


def exact_line(answer: str, right: str) -> bool:
    """Exact match as Qwen's harness defines it: the answer's first line that is not empty, both stripped."""
    first = next((line for line in answer.splitlines() if line.strip()), "")
    return first.strip() == right.strip()
