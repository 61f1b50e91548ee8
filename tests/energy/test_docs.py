"""docs/energy.md is true: its code runs and prints what it says, its tables are the code's, its commands exist."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import solvent.energy
from solvent.energy import CATEGORIES, EnergyContext
from solvent.energy.amounts import plain
from solvent.lab.mechanisms.energy import EnergyParams

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "energy.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)


def rows(heading):
    """The cells of the table whose first heading this is."""
    table = TEXT.split(f"| {heading} |")[1].split("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table]


def test_it_begins_with_the_lines_of_the_package():
    assert TEXT.split("\n\n")[1].startswith("```python\n" + BLOCKS[0].split("\n\n")[0])
    assert textwrap.indent(BLOCKS[0], "    ") in str(solvent.energy.__doc__)


def test_there_are_blocks_to_run():
    assert len(BLOCKS) == 5


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_its_code_runs_and_prints_what_it_says(block, tmp_path):
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", block],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines() == re.findall(r"print\(.*?\)  # (.*)", block)


def test_its_categories_are_the_codes():
    said = {row[0].strip("`"): tuple(row[1:3]) for row in rows("category")}
    assert said == {
        name: (f"{plain(line.low)} to {plain(line.high)}", "" if line.floor is None else plain(line.floor))
        for name, line in CATEGORIES.items()
    }


def test_its_multipliers_are_the_defaults():
    params = EnergyParams()
    multipliers = [params.first_use, params.error_rate, params.late_social, params.similar]
    assert [row[2] for row in rows("context")] == [plain(multiplier) for multiplier in multipliers]
    assert f"between 1 and {plain(params.multiplier_cap)}" in TEXT
    fields = {field for row in rows("context") for field in re.findall(r"`(\w+)`", row[1])}
    assert fields == set(EnergyContext.__dataclass_fields__)


def test_its_commands_and_options_are_there():
    from solvent_experiments.cli.app import app

    known = {
        command.name or command.callback.__name__ for command in app.registered_commands if command.callback
    }
    assert {"tools", "explain"} <= known
    assert set(re.findall(r"solvent (\w+)", TEXT.replace("from solvent import", ""))) <= known
