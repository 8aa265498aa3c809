"""The scorer says what an answer did, whatever the answer does."""

from __future__ import annotations

from typing import Any

import pytest

from codex.evals.scoring import InputsCheck, Part, PartScore, Scorer, ScriptCheck
from codex.guard.sandbox import Limits, Sandbox


@pytest.fixture(scope="module")
def scorer() -> Scorer:
    return Scorer(Sandbox(Limits(timeout_s=4.0, memory_bytes=1 << 30)), cpu_s=1.0)


SCRIPT = Part("base", ScriptCheck("assert add(1, 2) == 3"))
RIGHT = "def add(a, b):\n    return a + b\n"


def outcome(scorer: Scorer, code: str, part: Part = SCRIPT) -> str:
    (score,) = scorer.score(code, [part])
    return score.outcome


def test_right_passes_and_wrong_fails_with_its_reason(scorer: Scorer) -> None:
    assert scorer.score(RIGHT, [SCRIPT]) == (PartScore("base", "passed"),)
    (wrong,) = scorer.score("def add(a, b):\n    return 0", [SCRIPT])
    assert (wrong.outcome, wrong.detail) == ("failed", "AssertionError: ")
    assert "NameError" in scorer.score("", [SCRIPT])[0].detail
    assert "SyntaxError" in scorer.score("def add(", [SCRIPT])[0].detail


@pytest.mark.parametrize(
    ("name", "code", "expected"),
    [
        ("leaves early with status 0", "import sys\nsys.exit(0)", "failed"),
        ("leaves without cleaning up", "import os\nos._exit(0)", "failed"),
        (
            "prints a result of its own",
            "print('passed')\nimport os\nos.write(1, b'passed')\nos._exit(0)",
            "failed",
        ),
        (
            "catches everything and goes on",
            "while True:\n  try:\n    while True: pass\n  except BaseException: pass",
            "timeout",
        ),
        ("sleeps", "import time\ntime.sleep(100)", "timeout"),
        ("allocates without end", "x = []\nwhile True: x.append(bytearray(1 << 28))", "failed"),
        (
            "prints without end, which is silenced",
            RIGHT + "for _ in range(100000): print('x' * 100)",
            "passed",
        ),
        ("reads stdin", RIGHT + "input()", "failed"),
        ("forks", RIGHT + "import os\nif os.fork() == 0: os._exit(0)", "passed"),
    ],
)
def test_whatever_an_answer_does_has_an_outcome(scorer: Scorer, name: str, code: str, expected: str) -> None:
    assert outcome(scorer, code) == expected, name


def inputs(reference: str, given: list[tuple[Any, ...]], **more: Any) -> Part:
    return Part("plus", InputsCheck(reference, "f", tuple(given), **more))


@pytest.mark.parametrize(
    ("reference", "answer", "given", "more", "expected"),
    [
        ("lambda x: x + 1", "lambda x: x + 1", (1,), {}, "passed"),
        ("lambda x: x + 1", "lambda x: x + 2", (1,), {}, "failed"),
        ("lambda x: [x]", "lambda x: (x,)", (1,), {}, "failed"),
        ("lambda x: x * 0.1", "lambda x: x / 10", (3,), {}, "passed"),
        ("lambda x: x * 0.1", "lambda x: x * 0.1001", (3,), {}, "failed"),
        ("lambda x: x * 1.0", "lambda x: x + 0.01", (3,), {"atol": 0.1}, "passed"),
        ("lambda x: [x * 1.0]", "lambda x: [x + 0.01]", (3,), {"atol": 0.1}, "passed"),
        ("lambda x: [x * 1.0]", "lambda x: [x * 1.0, x]", (3,), {"atol": 0.1}, "failed"),
        ("lambda x: float('nan')", "lambda x: 1.0", (3,), {"atol": 0.1}, "failed"),
        ("lambda x: [1, 2]", "lambda x: [2, 1]", (0,), {"oracle": "same_set"}, "passed"),
        ("lambda x: [1, 2]", "lambda x: [2, 3]", (0,), {"oracle": "same_set"}, "failed"),
        ("lambda x: None", "lambda x: False", (0,), {"oracle": "found_or_not"}, "passed"),
        ("lambda x: object()", "lambda x: None", (0,), {"oracle": "found_or_not"}, "failed"),
        ("lambda c: 0", "lambda c: -2.0", ([2, 1],), {"oracle": "polynomial_root", "atol": 1e-4}, "passed"),
        ("lambda c: 0", "lambda c: 2.0", ([2, 1],), {"oracle": "polynomial_root", "atol": 1e-4}, "failed"),
    ],
)
def test_outputs_are_compared_as_evalplus_does(
    scorer: Scorer, reference: str, answer: str, given: tuple[Any, ...], more: dict[str, Any], expected: str
) -> None:
    part = inputs(f"f = {reference}", [given], **more)
    assert outcome(scorer, f"f = {answer}", part) == expected


def test_an_answer_cannot_change_the_inputs_of_the_next_call(scorer: Scorer) -> None:
    part = inputs("def f(x):\n    return sum(x)", [([1, 2],), ([3],)])
    assert outcome(scorer, "def f(x):\n    total = sum(x)\n    x.clear()\n    return total", part) == "passed"


def test_parts_behind_a_failed_one_are_not_reached(scorer: Scorer) -> None:
    parts = [inputs("f = lambda x: 1", [(0,)]), Part("more", ScriptCheck("assert f(0) == 1"))]
    assert [score.outcome for score in scorer.score("f = lambda x: 2", parts)] == ["failed", "not_reached"]
    assert [score.outcome for score in scorer.score("f = lambda x: 1", parts)] == ["passed", "passed"]


def test_a_slow_reference_is_off_the_answers_clock(scorer: Scorer) -> None:
    slow = (
        "import time\ndef f(x):\n    end = time.process_time() + 1.5\n"
        "    while time.process_time() < end: pass\n    return x"
    )
    assert outcome(scorer, "f = lambda x: x", inputs(slow, [(1,)])) == "passed"
