"""The notebook's record: nothing hidden is in it, and the worlds drawn from it are the belief's."""

from __future__ import annotations

import numpy as np
import pytest

from solvent.lab.mechanisms.belief import entropy_bits
from solvent.lab.params import LabParams, preset
from solvent.lab.state import lab_fields
from solvent_agents.planning.notebook_record import HIDDEN, PUBLIC, with_drawn_truth, without_truth
from tests.agents.random_play import random_play

LEVELS = {"debt": LabParams(), "lab": preset("lab")}


def lived(params, labs=16, steps=30):
    """Labs after some random play."""
    return random_play(params, labs, steps, seed=3)[0].get_state()


def test_every_field_is_either_public_or_hidden():
    names = [field.name for field in lab_fields(LEVELS["lab"])]
    assert sorted([*HIDDEN, *PUBLIC]) == sorted(names)


@pytest.mark.parametrize("params", LEVELS.values(), ids=LEVELS)
def test_what_is_hidden_is_blank_and_the_rest_is_as_it_was(params):
    labs = lived(params)
    before = labs.copy()
    notebooks = without_truth(labs, params)
    for name in labs.dtype.names:
        if name in HIDDEN:
            assert (notebooks[name] == HIDDEN[name][0]).all()
        else:
            np.testing.assert_array_equal(notebooks[name], labs[name])
        np.testing.assert_array_equal(labs[name], before[name])


def test_a_notebook_is_the_same_whatever_the_truth_is():
    params = LEVELS["lab"]
    labs = lived(params)
    other = labs.copy()
    for name in HIDDEN:
        other[name] += 1
    assert without_truth(labs, params).tobytes() == without_truth(other, params).tobytes()


def test_records_of_another_lab_are_refused():
    smaller = LabParams.from_mapping({"assay": {"potency_classes": 5}})
    with pytest.raises(ValueError, match=r"labs: got records of \d+ bytes; allowed: those of a lab"):
        without_truth(lived(LEVELS["debt"], labs=1, steps=1), smaller)


@pytest.mark.parametrize("params", LEVELS.values(), ids=LEVELS)
def test_drawn_worlds_are_the_beliefs(params):
    labs = lived(params)
    one = without_truth(labs, params)[[int(labs["experiments"].sum(axis=1).argmax())]]
    worlds = with_drawn_truth(np.repeat(one, 8000), params, np.random.default_rng(0))
    for m in range(len(params.assay.compounds)):
        shares = np.bincount(worlds["potency"][:, m], minlength=8) / len(worlds)
        np.testing.assert_allclose(shares, one["marginal"][0, m], atol=0.025)
    instruments = np.bincount(worlds["instrument"], minlength=15) / len(worlds)
    np.testing.assert_allclose(instruments, one["instrument_belief"][0], atol=0.025)
    assert len(np.unique(worlds["key"])) == len(worlds)


def test_class_and_instrument_are_drawn_together():
    """Where a plate ties them, the class's distribution is another one for each instrument."""
    params = LEVELS["debt"]
    labs = lived(params, labs=64)
    tied = [
        (i, m)
        for i, m in zip(*np.nonzero(labs["coupled"]), strict=True)
        if labs["instrument_belief"][i].max() < 0.6
    ]
    i, m = max(tied, key=lambda at: information(labs[at[0]], at[1]))
    worlds = with_drawn_truth(
        np.repeat(without_truth(labs, params)[[i]], 20_000), params, np.random.default_rng(1)
    )
    for n in np.argsort(labs["instrument_belief"][i])[::-1][:2]:
        mine = worlds["potency"][worlds["instrument"] == n, m]
        shares = np.bincount(mine, minlength=8) / len(mine)
        np.testing.assert_allclose(shares, labs["conditional"][i, m, n], atol=0.03)
    assert information(labs[i], m) > 0.02


def information(lab, m):
    """Bits that class and instrument tell of each other."""
    rows = sum(
        p * entropy_bits(row.astype(float))
        for p, row in zip(lab["instrument_belief"], lab["conditional"][m], strict=True)
    )
    return lab["entropy"][m] - rows


def test_fair_costs_are_believed_to_be_prices_unless_these_are_far_from_their_ratings():
    params = LEVELS["lab"]
    notebook = without_truth(lived(params, labs=1, steps=1), params)
    base = np.array([4000, 7000])
    notebook["price"][0, [4, 7]] = base
    worlds = with_drawn_truth(np.repeat(notebook, 500), params, np.random.default_rng(0))
    assert (worlds["fair"][:, [4, 7]] == base).all()
    notebook["price"][0, 4] = 8000
    worlds = with_drawn_truth(np.repeat(notebook, 500), params, np.random.default_rng(0))
    assert worlds["fair"][:, 4].min() >= 4000 / 1.25 - 1
    assert worlds["fair"][:, 4].max() <= 4000 * 1.25 + 1
    assert np.unique(worlds["fair"][:, 4]).size > 100
    assert (worlds["fair"][:, 7] == 7000).all()
