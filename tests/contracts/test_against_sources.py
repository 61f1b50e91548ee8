"""The page of the source documents: each requirement has a state, and what shows it exists."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
STUDIES = ROOT / "experiments" / "solvent_experiments" / "studies"
PAGE = (ROOT / "docs" / "sources.md").read_text(encoding="utf-8")
COLUMNS = "| requirement | state | shown by |\n|---|---|---|\n"
INSTRUMENTS = ("debt", "energy", "gate", "adequacy")
STATES = ("met", "departs", "not built")


def rows(instrument):
    """The cells of an instrument's table."""
    table = PAGE.split(f"\n## {instrument.capitalize()}\n")[1].split(COLUMNS)[1].split("\n\n")[0]
    return [[cell.strip() for cell in line[1:-1].split(" | ")] for line in table.strip().splitlines()]


def functions_of(path):
    return {
        node.name
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef)
    }


def test_the_page_counts_the_rows_of_every_table():
    found = {}
    for instrument in INSTRUMENTS:
        states = [state for _, state, _ in rows(instrument)]
        found[instrument] = (len(states), *(sum(s.startswith(state) for s in states) for state in STATES))
    told = re.findall(r"\| \[(\w+)\]\(#\w+\) \| .+ \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|", PAGE)
    assert {instrument: tuple(map(int, counts)) for instrument, *counts in told} == found


@pytest.mark.parametrize("instrument", INSTRUMENTS)
def test_every_requirement_is_met_or_a_departure_with_its_reason(instrument):
    for requirement, state, _ in rows(instrument):
        assert re.fullmatch(r"met(;.+)?|departs: .+|not built: .+", state), requirement


@pytest.mark.parametrize("instrument", INSTRUMENTS)
def test_what_shows_a_requirement_exists(instrument):
    for requirement, state, shown in rows(instrument):
        shows = re.findall(r"`([^`]+)`", shown)
        assert bool(shows) != state.startswith("not built"), requirement
        for one in shows:
            if study := re.fullmatch(r"solvent study run (\w+)", one):
                assert (STUDIES / f"{study[1]}.py").is_file(), one
                continue
            file, name = re.fullmatch(r"(tests/[\w/]+\.py)::(test_\w+)", one).groups()
            assert name in functions_of(ROOT / file), one
