"""The command says what it lacks where only the environment is installed."""

from __future__ import annotations

import pytest

from solvent.extras import install
from tests.commands import execute_python

HIDE_TYPER = "import sys; sys.modules['typer'] = None; from solvent_experiments.__main__ import main; main()"
THREADS = """
import atexit, os, sys; sys.argv = ["solvent", "--version"]
atexit.register(lambda: print(os.environ["OMP_NUM_THREADS"]))
from solvent_experiments.__main__ import main; main()
"""


def test_without_its_extra_the_command_is_one_line_and_exit_code_2() -> None:
    execute_python(HIDE_TYPER).refused("needs the package typer", install("experiments"))


def test_the_command_has_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS")
    assert execute_python(THREADS).out.splitlines()[-1] == "1"


def test_the_environment_may_ask_for_more_threads() -> None:
    assert execute_python(THREADS, env={"OMP_NUM_THREADS": "3"}).out.splitlines()[-1] == "3"
