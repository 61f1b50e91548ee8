"""The checks on the labelled pairs, as docs/gate.md reports them."""

from __future__ import annotations

import pytest

from tests.gate.check_pairs import pairs, scores

SCORES = {
    "build": {
        "supported": (0, 92),
        "number": (31, 31),
        "negation": (33, 33),
        "quotation": (23, 23),
        "novel": (5, 5),
    },
    "unseen": {
        "supported": (6, 78),
        "number": (27, 29),
        "negation": (23, 27),
        "quotation": (17, 17),
        "novel": (5, 5),
    },
}


@pytest.mark.parametrize("half", SCORES)
def test_objections_by_kind(half):
    assert scores(half) == SCORES[half]


def test_the_check_of_each_kind_finds_it():
    """The change is found by its own check, not by another that fires by chance."""
    own = {"number": "numbers", "negation": "negation", "quotation": "quotes"}
    found = dict.fromkeys(own, 0)
    for pair in (*pairs("build"), *pairs("unseen")):
        if pair.changed in own:
            found[pair.changed] += own[pair.changed] in pair.fired
    assert found == {"number": 57, "negation": 56, "quotation": 40}  # of 60, 60 and 40
