"""The tables "Against the source document": each requirement is met or a departure, and what shows it exists."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
STUDIES = ROOT / "experiments" / "solvent_experiments" / "studies"
HEADING = "\n## Against the source document\n"
COLUMNS = "| requirement | state | shown by |\n|---|---|---|\n"
PAGES = [path for path in sorted((ROOT / "docs").glob("*.md")) if HEADING in path.read_text(encoding="utf-8")]


def rows(page):
    """The cells of the page's table."""
    table = page.read_text(encoding="utf-8").split(HEADING)[1].split(COLUMNS)[1].split("\n\n")[0]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table.splitlines()]


def functions_of(path):
    return {
        node.name
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef)
    }


def test_the_page_of_the_sources_counts_the_rows_of_every_table():
    found = {}
    for page in PAGES:
        states = [state for _, state, _ in rows(page)]
        met = sum(state.startswith("met") for state in states)
        found[page.name] = (len(states), met, len(states) - met)
    told = re.findall(
        r"\]\((\w+\.md)#against-the-source-document\) \| .+ \| (\d+) \| (\d+) \| (\d+) \|",
        (ROOT / "docs" / "sources.md").read_text(encoding="utf-8"),
    )
    assert {page: tuple(map(int, counts)) for page, *counts in told} == found


@pytest.mark.parametrize("page", PAGES, ids=[page.stem for page in PAGES])
def test_every_requirement_is_met_or_a_departure_with_its_reason(page):
    for requirement, state, _ in rows(page):
        assert re.fullmatch(r"met(;.+)?|departs: .+", state), requirement


@pytest.mark.parametrize("page", PAGES, ids=[page.stem for page in PAGES])
def test_what_shows_a_requirement_exists(page):
    for requirement, _, shown in rows(page):
        shows = re.findall(r"`([^`]+)`", shown)
        assert shows, requirement
        for one in shows:
            if study := re.fullmatch(r"solvent study run (\w+)", one):
                assert (STUDIES / f"{study[1]}.py").is_file(), one
                continue
            file, name = re.fullmatch(r"(tests/[\w/]+\.py)::(test_\w+)", one).groups()
            assert name in functions_of(ROOT / file), one
