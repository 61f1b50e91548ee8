"""The heuristic against the labels of four sets, and the sets themselves."""

from __future__ import annotations

from pathlib import Path

import pytest

import solvent.adequacy
from solvent.adequacy import calls_of, score
from solvent.adequacy.agreement import Labelled, kappa
from solvent.files import read_records

FOLDER = Path(solvent.adequacy.__file__).parent
LEAST = {"agents_dev": 0.65, "agents_held_out": 0.57, "dev": 0.55, "held_out": 0.37}
"""Quadratic kappa; version 0.2.0 had 0.68, 0.61, 0.57 and 0.40."""


def examples(name):
    return list(read_records(FOLDER / f"labelled_{name}.jsonl", Labelled))


@pytest.mark.parametrize("name", LEAST)
def test_the_heuristic_agrees_with_the_labels(name):
    rows = examples(name)
    scores = [score(one.response, calls_of(one.tool_calls), one.query or "").score for one in rows]
    found = kappa([one.epad for one in rows], scores)
    assert found.value >= LEAST[name]
    assert found.low > 0.2


@pytest.mark.parametrize("name", ["agents_dev", "agents_held_out"])
def test_a_judge_is_asked_for_most_overclaims(name):
    asked = {True: [], False: []}
    for one in examples(name):
        found = score(one.response, calls_of(one.tool_calls), one.query or "")
        asked[one.epad >= 2].append(found.escalate)
    assert sum(asked[True]) > 0.7 * len(asked[True])
    assert sum(asked[False]) < 0.3 * len(asked[False])
