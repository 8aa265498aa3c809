"""HumanEval (arXiv 2107.03374) and HumanEval+ (arXiv 2305.01210) as tasks."""

from __future__ import annotations

from typing import Any

from codex.evals.data import Loaded, load
from codex.evals.scoring import InputsCheck, Part, ScriptCheck
from codex.evals.tasks import CodeTask

_ORACLES = {"find_zero": "polynomial_root"}


def humaneval_tasks(data: str | None = None, *, plus: bool = False) -> tuple[Loaded, tuple[CodeTask, ...]]:
    """`plus`: base and plus inputs of HumanEval+, against the reference's outputs; else the original tests.

    Raises EvaluationError: the data is not there or not what it should be.
    """
    loaded = load("humaneval+" if plus else "humaneval", data)
    return loaded, tuple(_task(row, plus=plus) for row in loaded.rows)


def _task(row: dict[str, Any], *, plus: bool) -> CodeTask:
    reference = row["prompt"] + row["canonical_solution"]
    parts = (
        tuple(_inputs(row, name, reference) for name in ("base", "plus"))
        if plus
        else (Part("base", ScriptCheck(f"{row['test']}\ncheck({row['entry_point']})")),)
    )
    return CodeTask(row["task_id"], row["entry_point"], row["prompt"], reference, parts)


def _inputs(row: dict[str, Any], name: str, reference: str) -> Part:
    inputs = tuple(tuple(given) for given in row[f"{name}_input"])
    oracle = _ORACLES.get(row["entry_point"], "")
    return Part(name, InputsCheck(reference, row["entry_point"], inputs, row["atol"], oracle))
