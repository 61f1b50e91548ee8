"""Governance: one policy at a time, never past the strictest, and never laxer than at the start."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from solvent.lab.mechanisms.governance import relaxed, tightened

STRICTEST = 4
levels = st.integers(0, STRICTEST)


@pytest.mark.parametrize(("level", "after"), [(0, 1), (1, 2), (2, 3), (3, 4), (4, 4)])
def test_an_incident_tightens_by_one_and_stops_at_the_strictest(level, after):
    assert tightened(level, STRICTEST) == after


@pytest.mark.parametrize(
    ("level", "start", "calm", "after"),
    [
        (2, 1, 11, 2),
        (2, 1, 12, 1),
        (2, 1, 13, 1),
        (4, 1, 12, 3),
        (1, 1, 12, 1),  # never past the start
        (1, 1, 10_000, 1),
        (0, 0, 10_000, 0),
        (1, 0, 12, 0),
        (4, 4, 10_000, 4),
    ],
)
def test_calm_relaxes_by_one_and_stops_at_the_start(level, start, calm, after):
    assert relaxed(level, start, calm, 12) == after


@given(levels, st.lists(st.tuples(st.booleans(), st.integers(0, 30)), max_size=40), st.integers(1, 20))
def test_whatever_happens_the_policy_stays_between_the_start_and_the_strictest(start, story, patience):
    level = start
    for wrong, calm in story:
        before = level
        level = tightened(level, STRICTEST) if wrong else relaxed(level, start, calm, patience)
        assert start <= level <= STRICTEST
        assert abs(level - before) <= 1
        assert level >= before if wrong else level <= before
