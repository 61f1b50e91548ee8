"""The checks on the labelled pairs, as docs/gate.md reports them."""

from __future__ import annotations

import pytest

from solvent.gate.checks import run_checks
from solvent.gate.datasets import load_dataset
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


@pytest.mark.public_data
@pytest.mark.parametrize(
    ("name", "label", "objected", "new_words"),
    [
        ("feverous", "supported", 11.8, 3.6),
        ("feverous", "refuted", 83.9, 68.5),
        ("fever_symmetric", "supported", 19.4, 13.4),
        ("fever_symmetric", "refuted", 41.3, 21.7),
        ("begin", "supported", 1.5, 0.6),
        ("begin", "nei", 45.9, 41.4),
    ],
)
def test_objections_on_published_sets(name, label, objected, new_words, public_data):
    """Shares in %, from the words alone: the span with the most words in common is the nearest."""
    samples = [s for s in load_dataset(public_data / name / "norm.jsonl").samples if s.label == label]
    fired = [[c.name for c in run_checks(s.claim, s.evidence) if c.fired] for s in samples]
    assert 100 * sum(map(bool, fired)) / len(samples) == pytest.approx(objected, abs=0.05)
    assert 100 * sum("novel_words" in names for names in fired) / len(samples) == pytest.approx(
        new_words, abs=0.05
    )
