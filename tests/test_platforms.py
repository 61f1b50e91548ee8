"""No module uses what Python has on Linux alone: what mypy finds when it reads the sources for other systems."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.commands import execute_python

ROOT = Path(__file__).resolve().parents[1]
MYPY = "import sys; from mypy.__main__ import console_entry; console_entry()"
# Without the libraries' types there are errors of other kinds.
ALONE = ("--config-file=", "--follow-imports=skip", "--ignore-missing-imports", "--explicit-package-bases")
SOURCES = ("envs/solvent", "agents/solvent_agents", "experiments/solvent_experiments")


@pytest.mark.slow
@pytest.mark.parametrize("platform", ["win32", "darwin"])
def test_python_has_all_that_is_used(platform: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MYPYPATH", "envs:agents:experiments")
    monkeypatch.chdir(ROOT)
    ended = execute_python(MYPY, *ALONE, f"--cache-dir={tmp_path}", "--platform", platform, *SOURCES)
    assert "source files)" in ended.out, ended
    assert [line for line in ended.out.splitlines() if "Module has no attribute" in line] == []
