"""The README is short, its code runs and its targets exist. Its commands and links are tested with the other pages."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from solvent_experiments.leaderboard import leaderboard_markdown, leaderboard_table, read_entries

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_its_code_runs_as_it_stands(block: str, tmp_path: Path) -> None:
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", block],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert not list(tmp_path.iterdir())
    for promised in re.findall(r"print\(.*\)  # (.*)", block):
        assert promised in result.stdout


def test_its_make_targets_are_there() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.findall(r"\bmake ([a-z][\w-]+)", TEXT)
    assert targets
    for target in targets:
        assert re.search(rf"^(?:[\w-]+ )*{target}\b.*:", makefile, re.MULTILINE), target


def test_it_is_read_in_a_few_minutes() -> None:
    lines = [line for line in TEXT.splitlines() if not line.startswith(("|", "<!--"))]
    assert len(" ".join(lines).split()) <= 700  # besides the two tables


def test_its_table_is_what_is_kept() -> None:
    entries = read_entries([ROOT / "docs" / "results" / "leaderboard.json"])
    assert leaderboard_table(entries, "Solvent/Debt-v0").markdown() in TEXT
    page = (ROOT / "docs" / "leaderboard.md").read_text(encoding="utf-8")
    assert leaderboard_markdown(entries) in page
