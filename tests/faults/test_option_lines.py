"""Every command with values that it can't use: each line is refused in one line, and leaves nothing behind."""

import os
import time

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
FATAL = dict.fromkeys(("play", "solve", "explain", "serve"), "--env")
FATAL |= dict.fromkeys(("proposals list", "proposals prices", "desk"), "--store")
FATAL |= dict.fromkeys(("adequacy patterns", "adequacy drift"), "--scores")
FATAL |= {"debt run": "--agent", "proposals register": "--category"}
"""Commands that would do something without arguments, and the option that always has a value here."""
UNKNOWN = {"envs", "study list"}
"""Commands that have no options: they get one that doesn't exist."""
OPEN = {"adequacy hook"}
"""Commands whose error must hold nobody up: they end with 1, not 2 (``tests/adequacy/test_commands.py``)."""
ONE_EACH = {"tools"}
"""Commands that print a line for each of their arguments."""
DOES = {"--help"}
"""Options that do something whatever the others are."""


def commands(command, path=()):
    """Yield the words and the parser of every command."""
    if not hasattr(command, "commands"):
        yield path, command
    for name, inner in getattr(command, "commands", {}).items():
        yield from commands(inner, (*path, name))


COMMANDS = dict(commands(typer.main.get_command(app)))


@st.composite
def lines(draw, path):
    """A line of a command: a value for all that it needs, and for some of what it takes."""
    values = st.sampled_from(VALUES)
    name, line = " ".join(path), list(path)
    for parameter in COMMANDS[path].params:
        option = max(parameter.opts, key=len)
        if parameter.param_type_name == "argument":
            most = 1 if parameter.nargs == 1 or name in ONE_EACH else 2
            line += draw(st.lists(values, min_size=1, max_size=most))
            continue
        needed = parameter.required or option == FATAL.get(name)
        if option not in DOES and (needed or draw(st.integers(0, 3)) == 0):
            line += [option] if parameter.is_flag else [option, draw(values)]
    if name in UNKNOWN or draw(st.integers(0, 19)) == 0:
        unknown = draw(st.sampled_from(("--none", "-x", "\x1b[2J", "--out")))
        line.insert(draw(st.integers(0, len(line))), unknown)
    return line


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "bytes").write_bytes(b"\xff\0\x1b" * 100)
    (tmp_path / "text").write_text("a: 1\n\x1b[2J", encoding="utf-8")
    (tmp_path / "object").write_text('{"a": 1}\n', encoding="utf-8")
    os.mkfifo(tmp_path / "pipe")
    return tmp_path


def assert_refused(line, here):
    """Assert that a line is refused in time and leaves nothing behind."""
    before, begun = sorted(here.rglob("*")), time.monotonic()
    call(*line).refused()
    assert time.monotonic() - begun < PATIENCE
    assert sorted(here.rglob("*")) == before


@pytest.mark.parametrize("path", [path for path in COMMANDS if " ".join(path) not in OPEN], ids=" ".join)
@given(data=st.data())
@settings(max_examples=5, phases=[Phase.generate], database=None, suppress_health_check=list(HealthCheck))
def test_a_line_that_can_not_be_used_is_refused(path, here, data):
    assert_refused(data.draw(lines(path)), here)
