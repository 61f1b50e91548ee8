"""The relay between a command and its reader: what it passes on, and where it stops."""

from __future__ import annotations

import subprocess
import sys

from solvent_experiments.instruments import relay

ECHO = "import sys; sys.stdout.write(sys.stdin.read() * 2)"


def passed_on(limit: int, program: str, typed: str = "") -> str:
    """What the relay passes on of a Python program's output."""
    command = [sys.executable, "-I", relay.__file__, str(limit), sys.executable, "-c", program]
    return subprocess.run(command, input=typed, capture_output=True, text=True, check=True, timeout=60).stdout


def test_it_passes_on_input_and_output() -> None:
    assert passed_on(8, ECHO, "ab\n ") == "ab\n ab\n "


def test_it_ends_a_longer_output_with_a_line_of_its_own() -> None:
    assert passed_on(7, ECHO, "ab\n ") == f"\n{relay.OVER}\n"


def test_it_ends_a_line_without_an_end() -> None:
    endless = "import sys\nwhile True: sys.stdout.write('x' * 1000)"
    assert passed_on(100_000, endless).endswith(f"x\n{relay.OVER}\n")
