"""Heuristic, judge and person on the same responses: pairs on what both scored, disagreements, the better of two."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

from solvent.adequacy.agreement import agreement
from solvent.adequacy.comparison import compare
from solvent.adequacy.errors import AdequacyError
from solvent.adequacy.heuristic import score
from solvent.adequacy.scores import Ratings, record_of
from solvent.adequacy.tools import ToolContext

BASE = record_of("It may work.", ToolContext(), None, score("It may work.", ToolContext()))


def rated(name, heuristic, judge, human):
    return dataclasses.replace(BASE, id=name, epad=Ratings(heuristic, judge, human))


def pair(found, first, second):
    return next(one for one in found.pairs if (one.first, one.second) == (first, second))


def assert_same(found, expected):
    """Equal; an interval of few pairs is NaN, which newer Pythons find unequal to itself in a dataclass too."""
    assert repr(found) == repr(expected)


def test_each_pair_is_compared_on_what_both_have_scored():
    rows = [(0, 0, 0), (1, 2, 1), (2, None, 3), (3, 3, 3), (0, 3, None), (None, None, 2)]
    found = compare([rated(f"r{i}", *row) for i, row in enumerate(rows)])
    assert found.count == 6
    assert found.missing == {"heuristic": 1, "judge": 2, "human": 1}
    pairs = {(pair.first, pair.second): pair for pair in found.pairs}
    assert {names: pair.count for names, pair in pairs.items()} == {
        ("heuristic", "judge"): 4,
        ("heuristic", "human"): 4,
        ("judge", "human"): 3,
    }
    assert pairs["heuristic", "human"].found == agreement([0, 1, 2, 3], [0, 1, 3, 3])
    assert_same(pairs["judge", "human"].found, agreement([0, 2, 3], [0, 1, 3]))


def test_disagreements_are_listed_the_widest_first():
    rows = {"a": (0, 2, 1), "b": (1, 1, 2), "c": (3, 0, None), "d": (None, None, None), "e": (0, 2, None)}
    found = compare([rated(name, *row) for name, row in rows.items()])
    assert [(d.id, d.apart) for d in found.disagreements] == [("c", 3), ("a", 2), ("e", 2)]
    assert str(found.disagreements[0]) == f"c ({BASE.rule}): heuristic 3, judge 0"
    every = compare([rated(name, *row) for name, row in rows.items()], apart=1)
    assert [d.id for d in every.disagreements] == ["c", "a", "e", "b"]


def test_a_later_line_of_an_id_counts():
    lines = [rated("a", 1, None, None), rated("b", 2, None, None), rated("a", None, None, 1)]
    lines.append(rated("b", None, None, 3))
    found = compare(lines)
    assert found.count == 2
    assert_same(pair(found, "heuristic", "human").found, agreement([1, 2], [1, 3]))


def test_the_better_rater_shows_and_equal_ones_do_not():
    rng = np.random.default_rng(4)
    truth = rng.integers(4, size=150)
    noise = np.clip(truth + rng.choice([-1, 0, 1], size=(2, 150), p=[0.2, 0.6, 0.2]), 0, 3)
    chance = rng.integers(4, size=150)

    def over(judge, heuristic):
        rows = zip(heuristic.tolist(), judge.tolist(), truth.tolist(), strict=True)
        found = compare([rated(f"r{i}", *row) for i, row in enumerate(rows)]).judge_over_heuristic
        assert found is not None
        return found.low, found.high

    low, high = over(noise[0], chance)
    assert low > 0.3
    low, high = over(noise[0], noise[1])
    assert low < 0.0 < high


def test_where_little_is_shared_nothing_is_claimed():
    found = compare([rated("a", 1, None, 2), rated("b", 0, None, None)])
    assert pair(found, "heuristic", "human").found is None
    assert pair(found, "heuristic", "human").count == 1
    assert found.judge_over_heuristic is None
    assert compare([]).count == 0


def test_sya_is_a_scale_of_its_own():
    lines = [dataclasses.replace(rated(str(i), 0, 0, 0), sya=Ratings(i, None, 3 - i)) for i in range(4)]
    found = pair(compare(lines, scale="sya"), "heuristic", "human").found
    assert found is not None
    assert found.kappa.value == pytest.approx(-1.0)


def test_it_can_be_written_as_json():
    found = compare([rated("a", 1, 1, 1), rated("b", 1, 1, 1), rated("c", 0, 3, None)])
    told = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert told["pairs"][1]["agreement"]["kappa"]["value"] is None
    assert told["disagreements"][0]["ratings"] == {"heuristic": 0, "judge": 3}
    assert told["judge_over_heuristic"] == {"value": None, "low": None, "high": None}


def test_bad_input_is_refused():
    with pytest.raises(AdequacyError, match="scale: got 'style'; allowed: epad, sya"):
        compare([BASE], scale="style")
    with pytest.raises(AdequacyError, match="apart: got 0; allowed: 1, 2, 3"):
        compare([BASE], apart=0)
    with pytest.raises(AdequacyError, match="for two responses"):
        compare([BASE, dataclasses.replace(BASE, sha256="0" * 64)])
