"""Gives MBPP+'s inputs back the types that JSON took from them: tuples, sets, complex numbers.

Which task takes which shape is a fact of the data set (EvalPlus, evalplus/data/mbpp.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Shape = Callable[[list[Any]], tuple[Any, ...]]


def typed_inputs(task_id: str, inputs: list[list[Any]]) -> tuple[tuple[Any, ...], ...]:
    """Arguments of each call, in the types that the task's function expects."""
    shape = _SHAPES.get(int(task_id.rpartition("/")[2]), tuple)
    return tuple(shape(given) for given in inputs)


def _tuples(given: list[Any]) -> tuple[Any, ...]:
    return tuple(tuple(argument) for argument in given)


def _lists_of_tuples(given: list[Any]) -> tuple[Any, ...]:
    return tuple([tuple(item) for item in argument] for argument in given)


def _tuples_of_tuples(given: list[Any]) -> tuple[Any, ...]:
    return tuple(tuple(tuple(item) for item in argument) for argument in given)


def _list_of_tuples_first(given: list[Any]) -> tuple[Any, ...]:
    return ([tuple(item) for item in given[0]], given[1])


def _tuple_first(given: list[Any]) -> tuple[Any, ...]:
    return (tuple(given[0]), *given[1:])


def _tuple_second(given: list[Any]) -> tuple[Any, ...]:
    return (given[0], tuple(given[1]))


def _mixed_tuple(given: list[Any]) -> tuple[Any, ...]:
    return (tuple(tuple(item) if isinstance(item, list) else item for item in given[0]),)


def _dict_of_tuples(given: list[Any]) -> tuple[Any, ...]:
    return ({key: tuple(value) for key, value in given[0].items()}, *given[1:])


def _list_of_sets(given: list[Any]) -> tuple[Any, ...]:
    """An empty one is a dict, because the task's own tests write it `{}`."""
    return ([set(item) if isinstance(item, list) and item else {} for item in given[0]],)


def _real_and_complex(given: list[Any]) -> tuple[Any, ...]:
    return (float(given[0]), complex(given[1]))


def _complex(given: list[Any]) -> tuple[Any, ...]:
    return (complex(given[0]),)


def _all_tuples(given: list[Any]) -> tuple[Any, ...]:
    def deep(value: Any) -> Any:
        return tuple(deep(item) for item in value) if isinstance(value, list) else value

    return tuple(deep(argument) for argument in given)


_TASKS: dict[Shape, str] = {
    _tuples: "2 116 132 143 222 261 273 394 399 421 424 429 470 560 579 596 616 630 726 740 744 809",
    _lists_of_tuples: "63 64 70 94 120 237 272 299 400 409 417 438 473 614 780",
    _list_of_tuples_first: "75 413 444 753",
    _tuple_second: "106 750",
    _list_of_sets: "115",
    _real_and_complex: "124",
    _tuple_first: "250 307 405 446 617 720 763 808",
    _tuples_of_tuples: "259 401 445",
    _mixed_tuple: "278",
    _dict_of_tuples: "722",
    _complex: "252",
    _all_tuples: "580 615 791",
}
_SHAPES: dict[int, Shape] = {
    int(number): shape for shape, numbers in _TASKS.items() for number in numbers.split()
}
