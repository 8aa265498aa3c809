"""What is generated stays current, what is linked exists, what is named is there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from codex.cli.reference import CLI_PAGE, README, readme

ROOT = Path(__file__).parents[1]
PAGES = [README, *(path.relative_to(ROOT) for path in sorted((ROOT / "docs").glob("*.md")))]


def test_cli_page_is_what_help_says_today() -> None:
    """In a process of its own: click remembers the help option of a command that ran alone before."""
    program = "from codex.cli.reference import cli_page; print(cli_page(), end='')"
    today = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert (ROOT / CLI_PAGE).read_text() == today, "run `make docs`"


def test_readme_table_holds_the_settings_of_today() -> None:
    text = (ROOT / README).read_text()
    assert text == readme(text), "run `make docs`"


def test_generated_pages_hold_no_path_of_this_machine() -> None:
    for page in (CLI_PAGE, README):
        assert str(Path.home()) not in (ROOT / page).read_text()


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_links_lead_somewhere(page: Path) -> None:
    text = (ROOT / page).read_text()
    links = re.findall(r"\]\((?!https?://|#)([^)#]+)", text)
    missing = [link for link in links if not ((ROOT / page).parent / link).exists()]
    assert missing == []


def test_every_room_is_in_the_architecture_page() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text()
    rooms = [path.parent.name for path in (ROOT / "src" / "codex").glob("*/__init__.py")]
    assert len(rooms) >= 8
    assert [room for room in rooms if f"`{room}/`" not in page] == []


def test_metrics_of_the_operations_page_exist() -> None:
    from codex.observe.metrics import Metrics
    from codex.types import EngineState, EngineStatus

    class Idle:
        running = 0
        waiting = 0

    metrics = Metrics()
    metrics.watch(lambda: EngineStatus(EngineState.READY), Idle())
    shown = metrics.render().decode()
    named = set(re.findall(r"`(codex_[a-z_]+)`", (ROOT / "docs" / "operations.md").read_text()))
    assert len(named) >= 8
    assert [name for name in named if name not in shown] == []
