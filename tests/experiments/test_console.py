"""Text from outside never reaches a terminal raw."""

from __future__ import annotations

import io
import subprocess
import sys

import pytest

from solvent_experiments.measure.table import Table
from solvent_experiments.run.console import complain, new_console, say, visible
from solvent_experiments.run.progress import Bars, Lines

HOSTILE = "\x1b[2J\x9b31m\u202eevil\u2066 [/bold][link=x]"
SHOWN = r"\x1b[2J\x9b31m\u202eevil\u2066 [/bold][link=x]"


def printed(show) -> str:  # type: ignore[no-untyped-def]
    console = new_console()
    console.file = io.StringIO()
    show(console)
    return console.file.getvalue()


def test_only_what_is_printable_stays() -> None:
    assert visible("5 µg – ✓") == "5 µg – ✓"
    assert visible(HOSTILE) == SHOWN
    assert visible("a\nb", "\n") == "a\nb"
    assert visible("a\nb") == r"a\nb"


@pytest.mark.parametrize(
    "show",
    [
        lambda console: console.print(HOSTILE),
        lambda console: console.print(
            Table((HOSTILE,), ((HOSTILE,),), title=HOSTILE, caption=HOSTILE).terminal()
        ),
        lambda console: Lines(console).say(HOSTILE),
        lambda console: Bars(console).say(HOSTILE),
    ],
    ids=["text", "table", "lines", "bars"],
)
def test_a_console_escapes(show) -> None:  # type: ignore[no-untyped-def]
    said = printed(show)
    assert SHOWN in said
    assert all(character.isprintable() or character == "\n" for character in said)


def test_a_bars_label_is_no_markup() -> None:
    def show(console) -> None:  # type: ignore[no-untyped-def]
        with Bars(console) as bars:
            bars.update("[/bold]", "[red]", 1, 2, "steps")

    assert "[/bold] [red]" in printed(show)


def test_a_complaint_is_one_line_that_keeps_its_end(capsys: pytest.CaptureFixture[str]) -> None:
    complain(f"{HOSTILE}\nsecond")
    complain(f"x.yaml: got {'y' * 5000}; allowed: less")
    short, long = capsys.readouterr().err.splitlines()
    assert short == f"solvent: {SHOWN} second"
    assert len(long) < 1100
    assert long.startswith("solvent: x.yaml: got yyy")
    assert long.endswith("yyy; allowed: less")


def test_what_is_logged_is_a_complaint() -> None:
    logs = (
        "import logging, sys; from solvent_experiments.cli.app import main;"
        "sys.argv[1:] = ['--version']\n"
        "try: main()\n"
        "except SystemExit: logging.getLogger('solvent.adequacy').warning('%s: left out', sys.stdin.read())"
    )
    ended = subprocess.run(
        [sys.executable, "-c", logs], input=HOSTILE, capture_output=True, text=True, check=True
    )
    assert ended.stderr == f"solvent: {SHOWN}: left out\n"


def test_say_escapes_on_both_streams(capsys: pytest.CaptureFixture[str]) -> None:
    say(f"{HOSTILE}\nsecond")
    say(HOSTILE, stderr=True)
    assert capsys.readouterr() == (f"{SHOWN}\nsecond\n", f"{SHOWN}\n")
