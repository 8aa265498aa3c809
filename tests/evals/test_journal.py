"""An interrupted run goes on where it was, and never with answers of another run."""

from __future__ import annotations

from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from codex.errors import EvaluationError
from codex.evals.journal import Journal, Record, default_path
from codex.evals.run import run_cases

KEYS = [f"task{number}" for number in range(12)]


async def _run(
    path: Path, *, stop_at: str | None = None, resume: bool = False
) -> tuple[dict[str, Record], list[str]]:
    asked: list[str] = []

    async def work(key: str) -> Record:
        asked.append(key)
        await anyio.lowlevel.checkpoint()
        if key == stop_at:
            raise EvaluationError("stopped")
        return {"text": f"answer to {key}"}

    with Journal(path, {"model": "m"}, resume=resume) as journal:
        return await run_cases(KEYS, work, journal, concurrency=3), asked


@pytest.mark.anyio
async def test_a_resumed_run_asks_only_for_the_rest_and_equals_a_whole_one(tmp_path: Path) -> None:
    with pytest.raises(EvaluationError, match="stopped"):
        await _run(tmp_path / "a.jsonl", stop_at="task7")
    done = (tmp_path / "a.jsonl").read_text().count('"key"')
    resumed, asked = await _run(tmp_path / "a.jsonl", resume=True)
    whole, _ = await _run(tmp_path / "b.jsonl")
    assert 0 < done < len(KEYS)
    assert len(asked) == len(KEYS) - done
    assert list(resumed.items()) == list(whole.items())


@pytest.mark.anyio
async def test_without_resume_it_starts_anew(tmp_path: Path) -> None:
    await _run(tmp_path / "a.jsonl")
    _, asked = await _run(tmp_path / "a.jsonl")
    assert sorted(asked) == sorted(KEYS)


@pytest.mark.anyio
async def test_no_more_than_concurrency_run_at_a_time(tmp_path: Path) -> None:
    running, most = 0, 0

    async def work(_: str) -> Record:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await anyio.sleep(0.001)
        running -= 1
        return {}

    with Journal(tmp_path / "a.jsonl", {}, resume=False) as journal:
        await run_cases(KEYS, work, journal, concurrency=4)
    assert most == 4


def test_a_torn_last_line_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    with Journal(path, {}, resume=False) as journal:
        journal.append("one", {"text": "1"})
    path.write_text(path.read_text() + '{"key": "two", "te')
    with Journal(path, {}, resume=True) as journal:
        assert list(journal.done) == ["one"]
        journal.append("two", {"text": "2"})
    with Journal(path, {}, resume=True) as journal:
        assert journal.done == {"one": {"text": "1"}, "two": {"text": "2"}}


def test_damage_in_the_middle_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    with Journal(path, {}, resume=False) as journal:
        journal.append("one", {})
    path.write_text(path.read_text().replace('"key"', "broken") + '{"key": "two"}\n')
    with pytest.raises(EvaluationError, match="line 2 is damaged"):
        Journal(path, {}, resume=True)


def test_answers_of_other_settings_are_refused(tmp_path: Path) -> None:
    with Journal(tmp_path / "a.jsonl", {"temperature": 0}, resume=False):
        pass
    with pytest.raises(EvaluationError, match="other settings"):
        Journal(tmp_path / "a.jsonl", {"temperature": 1}, resume=True)


def test_each_configuration_has_its_own_place() -> None:
    assert default_path("humaneval", {"a": 1}) == default_path("humaneval", {"a": 1})
    assert default_path("humaneval", {"a": 1}) != default_path("humaneval", {"a": 2})
