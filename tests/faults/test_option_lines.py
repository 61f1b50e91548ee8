"""Every command with values that it can't use: each line is refused in one line, and leaves nothing behind."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from solvent_experiments.cli import app
from tests.commands import call

PATIENCE = 20.0
"""Seconds for a line. The first that imports torch takes some."""

VALUES = (
    *("", " ", "---", "\n", "x", "a" * 5000, "../x", "\x1b[2J\u202e", "\udcff", "[/bold]", "x,y"),
    *("0", "-1", "1.5", "nan", "-inf", "1e400", "9" * 5000, "0x10", "1_0", "\u0661", "0-99999999"),
    *("none.yaml", "folder", "bytes", "pipe", "text", "object", "/dev/zero", "/proc/self/mem"),
    *("http://[", "ftp://x", "sqlite:///folder", "postgresql://", "Solvent/None-v0", "ppo:x", '{"a": NaN}'),
)
FATAL = {
    "play": "--env",
    "solve": "--env",
    "explain": "--env",
    "serve": "--env",
    "debt run": "--agent",
    "adequacy patterns": "--scores",
    "adequacy drift": "--scores",
    "proposals list": "--store",
    "proposals register": "--category",
    "proposals prices": "--store",
    "desk": "--store",
}
"""Commands that would do something without arguments, and the option that always has a value here."""
UNKNOWN = {"envs", "study list"}
"""Commands that have no options: they get one that doesn't exist."""
OPEN = {"adequacy hook"}
"""Commands whose error must hold nobody up: they end with 1, not 2 (``tests/adequacy/test_commands.py``)."""
ONE_EACH = {"tools"}
"""Commands that print a line for each of their arguments."""
DOES = {"--help"}
"""Options that do something whatever the others are."""


def commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    if not hasattr(command, "commands"):
        yield path, command
    for name, inner in getattr(command, "commands", {}).items():
        yield from commands(inner, (*path, name))


COMMANDS = dict(commands(typer.main.get_command(app)))


@st.composite
def lines(draw: st.DrawFn, path: tuple[str, ...]) -> list[str]:
    """A line of a command: a value for all that it needs, and for some of what it takes."""
    values = st.sampled_from(VALUES)
    name, line = " ".join(path), list(path)
    for parameter in COMMANDS[path].params:
        option = max(parameter.opts, key=len)
        if parameter.param_type_name == "argument":
            line += draw(
                st.lists(values, min_size=1, max_size=1 if parameter.nargs == 1 or name in ONE_EACH else 2)
            )
        elif option not in DOES and (
            parameter.required or option == FATAL.get(name) or draw(st.integers(0, 3)) == 0
        ):
            line += [option] if parameter.is_flag else [option, draw(values)]
    if name in UNKNOWN or draw(st.integers(0, 19)) == 0:
        line.insert(
            draw(st.integers(0, len(line))), draw(st.sampled_from(("--none", "-x", "\x1b[2J", "--out")))
        )
    return line


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "bytes").write_bytes(b"\xff\0\x1b" * 100)
    (tmp_path / "text").write_text("a: 1\n\x1b[2J", encoding="utf-8")
    (tmp_path / "object").write_text('{"a": 1}\n', encoding="utf-8")
    os.mkfifo(tmp_path / "pipe")
    return tmp_path


def fault_of(line: list[str], here: Path) -> str:
    """What is wrong with how a line is refused; empty if nothing is."""
    before, begun = sorted(here.rglob("*")), time.monotonic()
    try:
        call(*line).refused()
    except AssertionError as error:
        return f"{str(error)[:400]!a} of {line!a:.500}"
    if time.monotonic() - begun > PATIENCE:
        return f"{time.monotonic() - begun:.1f} s for {line!a:.500}"
    if left := set(here.rglob("*")) ^ set(before):
        return f"left {left} for {line!a:.500}"
    return ""


@pytest.mark.parametrize("path", [path for path in COMMANDS if " ".join(path) not in OPEN], ids=" ".join)
def test_a_line_that_can_not_be_used_is_refused(path: tuple[str, ...], here: Path) -> None:
    tried: list[str] = []

    @settings(max_examples=5, phases=[Phase.generate], database=None, suppress_health_check=list(HealthCheck))
    @given(lines(path))
    def attack(line: list[str]) -> None:
        tried.append(fault_of(line, here))

    attack()
    faults = [fault for fault in tried if fault]
    assert not faults, "\n".join(faults[:5])
