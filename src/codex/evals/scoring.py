"""Scores one answer by running it against its tests in the sandbox. Knows no data set and no model."""

from __future__ import annotations

import json
import pickle
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from codex.guard.sandbox import Limits, Sandbox, SandboxResult

Outcome = Literal["passed", "failed", "timeout", "not_reached"]

CPU_S = 10.0
"""Processor time of one part; the reference solution's own time comes on top."""

EVAL_LIMITS = Limits(timeout_s=120.0, memory_bytes=4 << 30)
"""Wide walls around the parts' own clock: EvalPlus gives 4 GiB, a busy machine must not fail an answer."""


@dataclass(frozen=True, slots=True)
class ScriptCheck:
    """Passes when the answer with `code` below it runs to its end."""

    code: str


@dataclass(frozen=True, slots=True)
class InputsCheck:
    """Passes when the answer gives the reference's outputs on every input."""

    reference: str
    entry_point: str
    inputs: tuple[tuple[Any, ...], ...]
    atol: float = 0.0
    oracle: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """One set of tests, named `base` or `plus`."""

    name: str
    check: ScriptCheck | InputsCheck


@dataclass(frozen=True, slots=True)
class PartScore:
    part: str
    outcome: Outcome
    detail: str = ""

    @property
    def passed(self) -> bool:
        return self.outcome == "passed"


class Scorer:
    """Runs answers in the sandbox; usable from many threads. Raises SandboxUnavailable when there is none."""

    def __init__(self, sandbox: Sandbox | None = None, *, cpu_s: float = CPU_S) -> None:
        self._sandbox = sandbox or Sandbox(EVAL_LIMITS)
        self._cpu_s = cpu_s
        self._program = Path(__file__).with_name("in_cell.py").read_text()
        self._sandbox.check()

    def score(self, code: str, parts: Sequence[Part]) -> tuple[PartScore, ...]:
        """One score a part, in order; parts behind the first failed one are `not_reached`. Blocks."""
        token = secrets.token_hex(16)
        payload = {"token": token, "cpu_s": self._cpu_s, "parts": [_order(code, part) for part in parts]}
        result = self._sandbox.run_python(self._program, files={"payload.pickle": pickle.dumps(payload)})
        told = _told(result, token)
        scores: list[PartScore] = []
        for part in parts:
            scores.append(
                told.get(part.name) or _untold(part, result, ended=any(not s.passed for s in scores))
            )
        return tuple(scores)


def _order(code: str, part: Part) -> tuple[str, str, dict[str, Any]]:
    check = part.check
    if isinstance(check, ScriptCheck):
        return part.name, "script", {"code": f"{code}\n\n{check.code}\n"}
    return (
        part.name,
        "inputs",
        {
            "code": code,
            "reference": check.reference,
            "entry_point": check.entry_point,
            "inputs": list(check.inputs),
            "atol": check.atol,
            "oracle": check.oracle,
        },
    )


def _told(result: SandboxResult, token: str) -> dict[str, PartScore]:
    found = {}
    for line in result.stdout.splitlines():
        if line.startswith(token):
            said = json.loads(line.removeprefix(token))
            found[said["part"]] = PartScore(said["part"], said["outcome"], said["detail"])
    return found


def _untold(part: Part, result: SandboxResult, *, ended: bool) -> PartScore:
    """The cell ended before this part was reported: the answer's own doing, unless another one ended it."""
    if ended:
        return PartScore(part.name, "not_reached")
    outcome: Outcome = "timeout" if result.status == "timeout" else "failed"
    last = result.stderr.strip().rpartition("\n")[2]
    return PartScore(part.name, outcome, f"{result.status}: {last}"[:300])
