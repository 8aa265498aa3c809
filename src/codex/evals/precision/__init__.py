"""The same tasks under several precisions (and wordings): what does each cost, what does it bring?

Knows how to run a benchmark on a target and how to pair two runs; starts no server.
"""

from codex.evals.precision.bench import Bench, make_bench
from codex.evals.precision.conditions import Condition, conditions_of
from codex.evals.precision.reporting import Measured, precision_report
from codex.evals.precision.speed import Speed, measure_speed

__all__ = [
    "Bench",
    "Condition",
    "Measured",
    "Speed",
    "conditions_of",
    "make_bench",
    "measure_speed",
    "precision_report",
]
