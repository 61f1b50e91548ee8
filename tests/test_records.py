"""Records that a lab could not step from are refused, and the refusal names the field."""

from __future__ import annotations

import math

import numpy as np
import pytest

from solvent import ENVIRONMENTS, LabEnv, LabVectorEnv, preset
from solvent.lab.records import check_records
from solvent.lab.state import blank_lab, lab_fields
from solvent.lab.verbs import Verb

PRESETS = [arguments["preset"] for arguments in ENVIRONMENTS.values()]


def fresh(name):
    """A record as an episode begins, and its parameters."""
    params = preset(name)
    lab = blank_lab(params)
    lab["key"] = 1
    return params, lab


@pytest.mark.parametrize("name", PRESETS)
def test_the_start_is_a_record(name):
    check_records(*fresh(name))


UNBOUNDED = {"key", "lot_calibrated"}


@pytest.mark.parametrize("name", PRESETS)
def test_every_field_is_refused_beyond_its_range_and_named(name):
    params, _ = fresh(name)
    for field in lab_fields(params):
        _, lab = fresh(name)
        ends = (math.nan, -math.inf, math.inf) if field.kind[0] == "f" else (0, 0)
        if field.kind[0] in "iu":
            ends = (np.iinfo(field.kind).min, np.iinfo(field.kind).max)
        refused = 0
        for end in ends:
            lab[field.name].flat[-1] = end
            told = refusal_of(params, lab)
            refused += bool(told)
            assert not told or told.startswith(f"state: {field.name}")
        assert refused == len(ends) or field.kind[0] == "u" or field.name in UNBOUNDED, field
        assert refused or field.name in UNBOUNDED, field


def refusal_of(params, lab):
    try:
        check_records(params, lab)
    except ValueError as error:
        return str(error)
    return ""


NEITHER = [0.5, 0.4, 0.1] + [0.0] * 5


@pytest.mark.parametrize(
    ("name", "fields", "refusal"),
    [
        ("default", {"instrument": -32768}, "instrument: got -32768; allowed: 0 to 14"),
        ("default", {"potency": 8}, "potency[0]: got 8; allowed: 0 to 7"),
        ("default", {"key": 0}, "key: got 0; allowed: 1 to 18446744073709551615"),
        ("default", {"wells": 385}, "wells: got 385; allowed: 0 to 384"),
        ("default", {"debt": -1e-9}, "debt: got -1e-09; allowed: 0.0 to 1000000000.0"),
        ("default", {"decision_at": 1}, "decision_at[0]: got 1; allowed: 0 to 0"),
        ("default", {"slot": 1}, "slot: got 1; allowed: 0 to 0"),
        (
            "default",
            {"heartbeat": 40},
            "heartbeat: got 40; allowed: below the horizon while the episode runs",
        ),
        (
            "default",
            {"marginal": 0.2},
            "marginal[0]: got [0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2]; allowed: prob",
        ),
        (
            "default",
            {"conditional": 0.0},
            "conditional[0, 0]: got [0., 0., 0., 0., 0., 0., 0., 0.]; allowed: prob",
        ),
        ("energy", {"energy": 20_001}, "energy: got 20001; allowed: 0 to 20000"),
        (
            "energy",
            {"energy": 20_000, "intents": 1},
            "intents: got [1, 1, 1, 1, 1]; allowed: at most the cap",
        ),
        (
            "energy",
            {"review_at": 4},
            "review_at[0]: got 4; allowed: at most proposals.review_heartbeats from now",
        ),
        ("gate", {"page": 12}, "page[0, 0]: got 12; allowed: -1 to 11"),
        ("gate", {"experiments": 1}, "fit_class[0]: got -1; allowed: a class where there is an experiment"),
        ("gate", {"strictness": 0}, "strictness: got 0; allowed: 1 to 4"),
        (
            "gate",
            {"decision_at": 5},
            "decision_at[0]: got 5; allowed: at most gate.review_heartbeats from now",
        ),
        (
            "gate",
            {"decision_at": 4},
            "submitted_class[0]: got -1; allowed: a class, of a finding under review",
        ),
        (
            "lab",
            {"decision_at": 4, "submitted_class": 0},
            "submitted_confidence[0]: got 0.; allowed: a confidence of the vocabulary, of a finding under review",
        ),
        (
            "lab",
            {"decision_at": 4, "submitted_class": 0, "submitted_confidence": 0.5},
            "submitted_verb[0]: got 0; allowed: a verb that publishes, of a finding under review",
        ),
        (
            "lab",
            {
                "decision_at": 4,
                "submitted_class": 0,
                "submitted_confidence": 0.5,
                "submitted_verb": Verb.PUBLISH_PUBLIC,
            },
            "submitted_rule[0]: got -1; allowed: a rule, of a finding under review",
        ),
    ],
)
def test_what_is_refused_is_told_in_a_line(name, fields, refusal):
    params, lab = fresh(name)
    for field, value in fields.items():
        lab[field] = value
    with pytest.raises(ValueError, match="allowed") as error:
        check_records(params, lab)
    assert str(error.value).startswith(f"state: {refusal}")
    assert "\n" not in str(error.value)


def test_a_belief_may_be_of_anything_that_sums_to_one():
    params, lab = fresh("default")
    lab["marginal"] = lab["conditional"] = NEITHER
    check_records(params, lab)


def test_a_refusal_changes_nothing_and_a_vectors_names_the_lab():
    one, three = LabEnv(), LabVectorEnv(3)
    for env in (one, three):
        env.reset(seed=1)
        state, before = env.get_state(), env.get_state().tobytes()
        shown = env.batch.observations.copy()
        np.atleast_1d(state)[-1]["debt"] = math.nan
        if env is one:
            state["debt"] = math.nan
        where = "state" if env is one else r"state\[2\]"
        with pytest.raises(ValueError, match=rf"^{where}: debt: got nan; allowed: 0.0 to 1000000000.0$"):
            env.set_state(state)
        assert env.get_state().tobytes() == before
        assert (env.batch.observations == shown).all()
