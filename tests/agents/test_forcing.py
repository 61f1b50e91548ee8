"""Forced outcomes are the outcomes that are drawn, with the probabilities with which they are drawn."""

import numpy as np
import pytest

from solvent.lab.batch import LabBatch, tables_array
from solvent.lab.codes import Event
from solvent.lab.mask import write_mask
from solvent.lab.params import LabParams, preset
from solvent.lab.settings import ParamError
from solvent.lab.state import lab_dtype
from solvent.lab.tables import tables_for
from solvent_agents.exact.forcing import (
    check_enumerable,
    expand,
    expansion,
    hypotheses,
    settle_belief,
    start,
    state_rows,
)

TINY = preset("tiny")
SMALL = LabParams.from_mapping(
    {
        "assay": {
            "compounds": ["nocodazole", "etoposide"],
            "potency_classes": 3,
            "gains": [0.7, 1.3],
            "plate_sds": [0.2],
            "bins": 3,
            "lot_heartbeats": 2,
        },
        "plates": {
            "dmso": {"readouts": 1},
            "baseline": {"readouts": 1},
            "calibration": {"readouts": 2},
            "screen": {"doses": [1e-6]},
            "dose_response": {"doses": [1e-7, 1e-6]},
        },
        "vocabulary": {"claims": [0.0, 0.5], "confidences": [0.5, 0.9]},
        "budget": {"wells": 120, "heartbeats": 4},
    }
)
LABS = {"debt": SMALL, "tiny": TINY}


class Forced:
    """All outcomes of all actions in one state."""

    def __init__(self, params, lab, weights):
        self.params, self.rows = params, hypotheses(params)
        out = expansion(params, 1)
        one = np.zeros(1, lab_dtype(params))
        one[0] = lab
        n = expand(one, weights[None], self.rows, tables_array(params), out)
        result = out.outcomes[:n]
        self.actions, self.codes = result["row"], result["code"]
        self.chances, self.rewards = result["chance"], result["reward"]
        self.labs, self.weights, self.masks = out.children[:n], out.weights[:n], out.masks[:n]

    def rows_of_states(self):
        running = self.labs["end_reason"] == 0
        return state_rows(self.labs[running], self.weights[running], self.masks[running], self.params)

    def of(self, action):
        return np.flatnonzero(self.actions == action)


def beginning(params):
    labs, weights = start(params)
    return labs[0], weights[0]


def plate(readouts, compound=0):
    """An experiment of the small lab with so many readouts, claiming nothing."""
    tables = tables_for(SMALL)
    fits = (tables.readouts[tables.verb] == readouts) & (tables.compound == compound) & (tables.claim == 0)
    return int(np.flatnonzero(fits)[0])


def seen(lab, params):
    """What a played lab shows of its last plate, as one number."""
    bins = np.maximum(lab["last_bins"], 0)
    return int(bins @ params.assay.bins ** np.arange(len(bins)))


@pytest.mark.parametrize("params", LABS.values(), ids=LABS)
def test_the_outcomes_of_every_action_sum_to_one(params):
    lab, weights = beginning(params)
    rng = np.random.default_rng(0)
    for _ in range(params.budget.heartbeats):
        forced = Forced(params, lab, weights)
        totals = np.bincount(forced.actions, forced.chances)
        np.testing.assert_allclose(totals, 1.0, atol=1e-12)
        np.testing.assert_allclose(forced.weights.sum(axis=1), 1.0, atol=1e-12)
        going_on = np.flatnonzero(forced.labs["end_reason"] == 0)
        if not len(going_on):
            break
        chosen = rng.choice(going_on)
        lab, weights = forced.labs[chosen], forced.weights[chosen]


@pytest.mark.parametrize("params", LABS.values(), ids=LABS)
def test_what_is_drawn_is_among_what_is_forced(params):
    """Real labs, random actions: each step leads to a forced outcome, the same record but for truth and luck."""
    batch = LabBatch(params, 1)
    rng = np.random.default_rng(1)
    hidden = ("key", "episode", "potency", "instrument", "fair")
    for seed in range(12):
        batch.begin([seed], np.ones(1, bool), rng)
        lab, weights = beginning(params)
        for _ in range(params.most_steps):
            action = int(rng.integers(len(tables_for(params).verb)))
            forced = Forced(params, lab, weights)
            batch.step(np.array([action]))
            played = batch.labs[0].copy()
            rows, step = forced.of(action), batch.steps[0]
            code = int(step["right"]) if step["event"] == Event.PUBLISHED else seen(played, params)
            match = rows[
                (forced.codes[rows] == code)
                & (np.abs(forced.rewards[rows] - batch.rewards[0]) < 1e-9)
                & (forced.labs["wrong"][rows] == played["wrong"])
            ]
            assert len(match) == 1, f"seed {seed}: {len(match)} outcomes"
            child = forced.labs[match[0]]
            for name in child.dtype.names:
                if name not in hidden:
                    np.testing.assert_array_equal(child[name], played[name], err_msg=name)
            if played["end_reason"]:
                break
            lab, weights = child, forced.weights[match[0]]


@pytest.mark.parametrize("params", LABS.values(), ids=LABS)
def test_what_a_key_leaves_out_changes_nothing(params):
    """States along random walks, with all that the key doesn't look at replaced by nonsense: the same future."""
    rng = np.random.default_rng(3)
    tables, kept = tables_for(params), tables_array(params)
    masks = np.zeros((2, len(tables.verb)), np.int8)
    tallies = [
        "score", "published_bits", "debt_added", "debt_repaid", "debt_peak", "claimed", "gained",
        "wells_spent", "accepted", "wrong", "rejected", "not_executed", "calibrations", "steps", "last_event",
        "last_action", "energy_income", "energy_spent", "deferrals", "out_of_context",
        "verdicts", "decided", "scores", "intents_shown", "intents_total", "beats_over_threshold", "longest_streak",
        "refusals_by_debt",
    ]  # fmt: skip
    for _ in range(6):
        lab, weights = beginning(params)
        for _ in range(params.budget.heartbeats - 1):
            forced = Forced(params, lab, weights)
            other = lab.copy()
            for name in set(tallies) & set(lab.dtype.names):
                other[name] = rng.integers(0, 5, other[name].shape)
            for m in np.flatnonzero(lab["published"]):
                other["licence"][m], other["experiments"][m] = 3.0, 7
                if params.gate.enabled:
                    other["page"][m] = 0
            both = np.stack([lab, other])
            for one, mask in zip(both, masks, strict=True):
                write_mask(one, kept[0], mask)
            rows = state_rows(both, np.stack([weights, weights]), masks, params)
            np.testing.assert_array_equal(rows[0], rows[1])
            again = Forced(params, other, weights)
            np.testing.assert_array_equal(forced.rows_of_states(), again.rows_of_states())
            np.testing.assert_allclose(forced.rewards, again.rewards, atol=1e-12)
            going_on = np.flatnonzero(forced.labs["end_reason"] == 0)
            if not len(going_on):
                break
            chosen = rng.choice(going_on)
            lab, weights = forced.labs[chosen], forced.weights[chosen]


def test_a_new_lot_has_any_instrument_and_the_same_compounds():
    belief = np.array([0.6, 0.2, 0.8, 0.4])  # of the instruments 0 and 1, each with the classes 0 and 1
    settle_belief(belief, chance=2.0, new_lot=True, n_states=2)
    assert belief == pytest.approx([0.35, 0.15, 0.35, 0.15])


UNENUMERABLE = {
    "proposals.mispriced_most": ("tiny", {"proposals": {"enabled": True}}),
    "assay": ("debt", {"assay": {"compounds": [f"c{i}" for i in range(20)]}}),
    "career.enabled": ("frontier", {}),
}


@pytest.mark.parametrize(("setting", "lab"), UNENUMERABLE.items())
def test_labs_that_cannot_be_enumerated_are_refused_in_one_line(setting, lab):
    level, changes = lab
    base = LabParams() if level == "debt" else preset(level)
    with pytest.raises(ParamError, match=rf"^{setting}: got .*; allowed: "):
        check_enumerable(LabParams.from_mapping(changes, base=base))
