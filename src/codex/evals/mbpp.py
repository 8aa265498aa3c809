"""MBPP (sanitized, arXiv 2108.07732) and MBPP+ (arXiv 2305.01210) as tasks."""

from __future__ import annotations

import ast
from typing import Any

from codex.errors import EvaluationError
from codex.evals.data import Loaded, load
from codex.evals.extract import parse_quietly
from codex.evals.mbpp_types import typed_inputs
from codex.evals.scoring import InputsCheck, Part, ScriptCheck
from codex.evals.tasks import CodeTask

_SAME_SET = {
    "similar_elements",
    "find_char_long",
    "common_in_nested_lists",
    "extract_singly",
    "larg_nnum",
    "intersection_array",
    "find_dissimilar",
    "Diff",
}
_ORACLES = {
    **dict.fromkeys(_SAME_SET, "same_set"),
    **dict.fromkeys(("check_str", "text_match_three", "text_starta_endb"), "found_or_not"),
    "are_equivalent": "anything",
    "sum_div": "zero",
    "surface_Area": "pyramid",
    "digit_distance_nums": "digit_distance",
}
"""Tasks of MBPP+ with more than one right output, as EvalPlus treats them."""


def mbpp_tasks(data: str | None = None, *, plus: bool = False) -> tuple[Loaded, tuple[CodeTask, ...]]:
    """`plus`: the 378 tasks of MBPP+ with base and plus inputs; else the 427 sanitized tasks with asserts.

    Raises EvaluationError: the data is not there or not what it should be.
    """
    loaded = load("mbpp+" if plus else "mbpp", data)
    return loaded, tuple((_plus_task if plus else _sanitized_task)(row) for row in loaded.rows)


def _sanitized_task(row: dict[str, Any]) -> CodeTask:
    """The prompt has the shape of MBPP+: the description and the first assert in a docstring."""
    tests = "\n".join([*row["test_imports"], *row["test_list"]])
    return CodeTask(
        id=f"Mbpp/{row['task_id']}",
        entry_point=entry_point(row["code"], row["test_list"]),
        prompt=f'"""\n{row["prompt"].strip()}\n{row["test_list"][0]}\n"""\n',
        reference=row["code"].replace("\r\n", "\n"),
        parts=(Part("base", ScriptCheck(tests)),),
    )


def entry_point(code: str, tests: list[str]) -> str:
    """The function of `code` that the tests call.

    Raises EvaluationError: they call none of it.
    """
    defined = {node.name for node in parse_quietly(code).body if isinstance(node, ast.FunctionDef)}
    for test in tests:
        for node in ast.walk(parse_quietly(test)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in defined:
                return node.func.id
    raise EvaluationError(f"no test calls a function of this solution: {tests[:1]}")


def _plus_task(row: dict[str, Any]) -> CodeTask:
    reference = row["prompt"] + row["canonical_solution"]
    parts = tuple(_inputs(row, name, reference) for name in ("base", "plus"))
    return CodeTask(row["task_id"], row["entry_point"], row["prompt"], reference, parts)


def _inputs(row: dict[str, Any], name: str, reference: str) -> Part:
    inputs = typed_inputs(row["task_id"], row[f"{name}_input"])
    oracle = _ORACLES.get(row["entry_point"], "")
    return Part(name, InputsCheck(reference, row["entry_point"], inputs, row["atol"], oracle))
