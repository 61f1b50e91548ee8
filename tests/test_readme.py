"""The README is true: its code runs, its files and commands exist, its numbers are the code's."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from solvent import preset
from solvent.lab.actions import action_table

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)


def test_there_are_blocks_to_run() -> None:
    assert len(BLOCKS) >= 3


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


def test_what_it_links_to_is_there() -> None:
    targets = [target for target in re.findall(r"\]\(([^)]+)\)", TEXT) if "://" not in target]
    assert targets
    for target in targets:
        assert (ROOT / target).exists(), target


def test_its_folders_and_make_targets_are_there() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"^make ([\w-]+)", TEXT, re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
    for folder in re.findall(r"^\| `([\w/]+)` \|", TEXT, re.MULTILINE):
        assert (ROOT / folder).is_dir(), folder


def test_its_commands_are_commands() -> None:
    from solvent_experiments.cli.app import app

    known = {
        command.name or command.callback.__name__ for command in app.registered_commands if command.callback
    }
    known |= {group.name for group in app.registered_groups if group.name}
    used = set(re.findall(r"^solvent (\w+)", TEXT, re.MULTILINE))
    assert used
    assert used <= known


def test_its_numbers_are_the_defaults() -> None:
    params = preset("default")
    assert f"{len(action_table(params))} actions" in TEXT
    assert f"{params.budget.heartbeats} heartbeats" in TEXT
    assert f"{params.budget.wells} wells" in TEXT
    assert f"1 + {params.debt.sensitivity:g} d" in TEXT
    assert f"above {params.debt.threshold:g} bits" in TEXT
