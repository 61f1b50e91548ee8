"""Prices of real tools: no act that can't be taken back is below its floor, and the page says how many are right."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from solvent.energy import CATEGORIES
from solvent_experiments.instruments.energy.labelled_tools import below_floor, labelled, results

SETS = labelled()
RESULTS = Path(__file__).parents[2] / "docs/results/tool_prices.json"
# Its name doesn't say that the machine it is made from can never run again, nor does a hint.
UNKNOWABLE = {"create_template"}


@pytest.mark.parametrize("name", SETS)
def test_no_act_that_cannot_be_taken_back_is_below_its_floor(name):
    assert {tool.name for tool in SETS[name] if below_floor(tool)} <= UNKNOWABLE


def test_sets_share_no_server():
    servers = [{tool.server for tool in tools} for tools in SETS.values()]
    assert len(set.union(*servers)) == sum(map(len, servers))


def test_labels_are_ranges_of_categories():
    order = list(CATEGORIES)
    assert all(order.index(tool.least) <= order.index(tool.most) for tools in SETS.values() for tool in tools)


def counts(found):
    return {
        (name, subset, outcome): row["count"]
        for name, subsets in found.items()
        for subset, rows in subsets.items()
        for outcome, row in rows.items()
        if isinstance(row, dict)
    }


def test_the_result_file_is_of_these_prices():
    assert counts(json.loads(RESULTS.read_text(encoding="utf-8"))["now"]) == counts(results())
