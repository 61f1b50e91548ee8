"""No module uses what Python has on Linux alone: what mypy finds when it reads the sources for other systems."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.slow
@pytest.mark.parametrize("platform", ["win32", "darwin"])
def test_python_has_all_that_is_used(platform: str, tmp_path: Path) -> None:
    alone = (
        "--config-file=",
        "--follow-imports=skip",
        "--ignore-missing-imports",
        "--explicit-package-bases",
    )
    sources = [
        str(ROOT / path)
        for path in ("envs/solvent", "agents/solvent_agents", "experiments/solvent_experiments")
    ]
    ended = subprocess.run(
        [sys.executable, "-m", "mypy", *alone, f"--cache-dir={tmp_path}", "--platform", platform, *sources],
        env={**os.environ, "MYPYPATH": "envs:agents:experiments"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "source files)" in ended.stdout, (
        ended
    )  # without the libraries' types there are errors of other kinds
    assert [line for line in ended.stdout.splitlines() if "Module has no attribute" in line] == []
