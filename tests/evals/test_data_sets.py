"""Where the public files come from, and that the scorer is right on them."""

from __future__ import annotations

import gzip
import hashlib
import json
from pathlib import Path

import httpx2
import pytest

from codex.errors import EvaluationError
from codex.evals import data as data_module
from codex.evals.data import DATA_SETS as FILES
from codex.evals.data import load
from codex.evals.humaneval import humaneval_tasks
from codex.evals.infilling import infilling_tasks, santacoder_tasks
from codex.evals.mbpp import entry_point, mbpp_tasks
from codex.evals.mbpp_types import typed_inputs
from codex.evals.scoring import Scorer
from codex.evals.selfcheck import DATA_SETS, self_check


def test_humaneval_comes_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CODEX_TEST_DATA", raising=False)
    loaded, tasks = humaneval_tasks()
    assert (len(tasks), loaded.sha256) == (164, FILES["humaneval"].sha256)


def test_scorer_is_right_on_a_part_of_humaneval() -> None:
    found = self_check("humaneval", scorer=Scorer(), every=12)
    assert (found.total, found.failed, found.passed_empty) == (14, (), ())
    assert found.right


def test_a_missing_file_names_its_source(tmp_path: Path) -> None:
    with pytest.raises(EvaluationError, match="mbppplus_release"):
        load("mbpp+", str(tmp_path))


def test_other_bytes_in_a_data_folder_are_refused(tmp_path: Path) -> None:
    (tmp_path / "sanitized-mbpp.json").write_text("[]")
    with pytest.raises(EvaluationError, match="sha256"):
        load("mbpp", str(tmp_path))


def test_a_file_of_ones_own_is_taken_and_named_by_its_hash(tmp_path: Path) -> None:
    path = tmp_path / "own.jsonl"
    path.write_text('{"a": 1}\n\n{"a": 2}\n')
    loaded = load("mbpp", str(path))
    assert loaded.rows == ({"a": 1}, {"a": 2})
    assert loaded.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


def test_an_unreadable_file_is_said_so(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_bytes(gzip.compress(b"{")[:-4])
    with pytest.raises(EvaluationError, match="not JSON"):
        load("mbpp", str(tmp_path / "x.json"))


def test_a_url_is_checked_and_fetched_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = json.dumps([{"a": 1}]).encode()
    sha256 = hashlib.sha256(content).hexdigest()
    fetched = []

    def get(url: str, **_: object) -> httpx2.Response:
        fetched.append(url)
        return httpx2.Response(200, content=content, request=httpx2.Request("GET", url))

    monkeypatch.setattr(data_module, "user_cache_path", lambda _: tmp_path)
    monkeypatch.setattr(httpx2, "get", get)
    for _ in range(2):
        assert load("mbpp", f"https://files.test/x.json#sha256={sha256}").rows == ({"a": 1},)
    assert fetched == ["https://files.test/x.json"]
    with pytest.raises(EvaluationError, match="expected"):
        load("mbpp", "https://files.test/x.json")


def test_entry_point_is_the_function_that_the_tests_call() -> None:
    code = "def helper(x):\n    return x\ndef wanted(x):\n    return helper(x)"
    assert entry_point(code, ["assert set(wanted(1)) == set(wanted(1))"]) == "wanted"
    with pytest.raises(EvaluationError):
        entry_point(code, ["assert other(1)"])


@pytest.mark.parametrize(
    ("task", "given", "typed"),
    [
        ("Mbpp/2", [[1], [2]], ((1,), (2,))),
        ("Mbpp/63", [[[1, 2]]], ([(1, 2)],)),
        ("Mbpp/75", [[[1]], 6], ([(1,)], 6)),
        ("Mbpp/106", [[1], [2]], ([1], (2,))),
        ("Mbpp/115", [[[1, 1], [], {}]], ([{1}, {}, {}],)),
        ("Mbpp/124", ["1", "2j"], (1.0, 2j)),
        ("Mbpp/252", ["1j"], (1j,)),
        ("Mbpp/259", [[[1]], [[2]]], (((1,),), ((2,),))),
        ("Mbpp/278", [[1, [2]]], ((1, (2,)),)),
        ("Mbpp/580", [[1, [2, [3]]]], ((1, (2, (3,))),)),
        ("Mbpp/722", [{"a": [1, 2]}, 3], ({"a": (1, 2)}, 3)),
        ("Mbpp/3", [[1], {"a": [1]}], ([1], {"a": [1]})),
    ],
)
def test_inputs_get_their_types_back(task: str, given: list[object], typed: tuple[object, ...]) -> None:
    assert typed_inputs(task, [given]) == (typed,)


@pytest.mark.data
def test_every_data_set_has_its_rows(data_dir: Path) -> None:
    data = str(data_dir)
    counts = {
        "humaneval": len(humaneval_tasks(data)[1]),
        "humaneval+": len(humaneval_tasks(data, plus=True)[1]),
        "mbpp": len(mbpp_tasks(data)[1]),
        "mbpp+": len(mbpp_tasks(data, plus=True)[1]),
        "single-line": len(infilling_tasks("single-line", data)[1]),
        "random-span": len(infilling_tasks("random-span", data)[1]),
        "santacoder": len(santacoder_tasks(data)[1]),
    }
    assert counts == {
        "humaneval": 164,
        "humaneval+": 164,
        "mbpp": 427,
        "mbpp+": 378,
        "single-line": 1033,
        "random-span": 164,
        "santacoder": 1506,
    }


EVERY = {"humaneval": 2, "humaneval+": 4, "mbpp": 5, "mbpp+": 9, "single-line": 20, "random-span": 4}
"""Shares that keep the whole test within a minute; `codex-cli eval selfcheck` runs them all."""


@pytest.mark.data
@pytest.mark.parametrize("name", DATA_SETS)
def test_references_score_everything_and_empty_answers_nothing(name: str, data_dir: Path) -> None:
    found = self_check(name, str(data_dir), scorer=Scorer(), every=EVERY[name])
    assert found.total >= 40
    assert (found.failed, found.passed_empty) == ((), ())
