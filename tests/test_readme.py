"""The README's code runs; its folders, commands and targets exist."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

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
