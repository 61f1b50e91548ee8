"""The command says what it lacks where only the environment is installed."""

from __future__ import annotations

import subprocess
import sys

from solvent.extras import install

HIDE_TYPER = "import sys; sys.modules['typer'] = None; from solvent_experiments.__main__ import main; main()"


def test_without_its_extra_the_command_is_one_line_and_exit_code_2() -> None:
    result = subprocess.run([sys.executable, "-c", HIDE_TYPER], capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert "needs the package typer" in line
    assert install("experiments") in line


def test_the_package_runs_as_a_module() -> None:
    command = [sys.executable, "-m", "solvent_experiments", "--version"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0
    assert "solvent" in result.stdout
