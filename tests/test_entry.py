"""The command says what it lacks where only the environment is installed."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from solvent.extras import install

HIDE_TYPER = "import sys; sys.modules['typer'] = None; from solvent_experiments.__main__ import main; main()"


def test_without_its_extra_the_command_is_one_line_and_exit_code_2() -> None:
    result = subprocess.run([sys.executable, "-c", HIDE_TYPER], capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert "needs the package typer" in line
    assert install("experiments") in line


@pytest.mark.parametrize(("given", "used"), [({}, "1"), ({"OMP_NUM_THREADS": "3"}, "3")])
def test_the_command_has_one_thread_unless_the_environment_says_otherwise(
    given: dict[str, str], used: str
) -> None:
    code = (
        "import atexit, os, sys; sys.argv = ['solvent', '--version']\n"
        "atexit.register(lambda: print(os.environ['OMP_NUM_THREADS']))\n"
        "from solvent_experiments.__main__ import main; main()"
    )
    environment = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"} | given
    said = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert said.stdout.splitlines()[-1] == used
