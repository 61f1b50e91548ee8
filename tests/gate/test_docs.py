"""docs/gate.md is true: its code runs and prints what it says, and its commands and options are there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from solvent_experiments.instruments.gate.command import app

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "gate.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
OURS = ("sweep", "check", "eval", "plot")


def test_its_code_runs_and_prints_what_it_says(embedder: Any, tmp_path: Path) -> None:
    assert BLOCKS
    for block in BLOCKS:
        result = subprocess.run(
            [sys.executable, "-c", block],
            cwd=tmp_path,
            env={**os.environ, "SOLVENT_CACHE": str(tmp_path)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert result.returncode == 0, result.stderr
        assert result.stdout.splitlines() == re.findall(r"print\(.*?\)  # (.*)", block)


@pytest.mark.parametrize("command", OURS)
def test_every_command_is_there(command: str) -> None:
    assert f"solvent gate {command}" in TEXT
    assert command in {
        found.name or getattr(found.callback, "__name__", "") for found in app.registered_commands
    }


def test_every_option_is_an_option() -> None:
    modules = [
        sys.modules[f"solvent_experiments.instruments.{name}"]
        for name in ("options", "gate.command", "gate.options")
    ]
    source = "".join(Path(module.__file__ or "").read_text(encoding="utf-8") for module in modules)
    for option in set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", TEXT)):
        name = option.removeprefix("--").replace("-", "_")
        assert f'"{option}"' in source or re.search(rf"^    {name}: ", source, re.MULTILINE), option
