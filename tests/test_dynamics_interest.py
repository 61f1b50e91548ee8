"""Interest, the licence of an uncalibrated lot, the leak and the readers' discount: each step, and over random play."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solvent.lab.observation import observation_fields
from solvent.lab.params import LabParams
from solvent.lab.verbs import Verb
from tests.labs import LEFT_OUT, PLAIN, PLAINLY, REST, by_hand, merged, open_lab, put, shown, study, take

RULES = {
    "debt": {"interest": 0.08, "interest_cap": 3.0, "uncalibrated_licence": 0.5},
    "energy": {"leak": 0.1},
    "publishing": {"discount": 0.1},
}


def lab(preset="default", seed=0, **params):
    return open_lab(merged(RULES, params), preset, seed, detailed_info=True)


# -- interest ------------------------------------------------------------------------------------


def test_debt_grows_as_a_heartbeat_closes_and_not_within_one():
    env = lab("energy")
    put(env, debt=1.0, energy=20_000)
    _, step, after = take(env, Verb.REFLECT)
    assert (step["debt_interest"], after["debt"]) == (0.0, 1.0)
    info, step, after = take(env, Verb.REST)
    assert after["debt"] == pytest.approx(1.08)
    assert info["debt_interest"] == step["debt_interest"] == after["debt_interest"] == pytest.approx(0.08)
    assert (info["cost"], after["debt_added"]) == (0.0, 0.0)  # interest is no overclaim
    assert after["debt_peak"] == after["debt"]


def test_interest_stops_at_its_cap_and_settles_with_the_debt():
    env = lab(budget={"heartbeats": 10})
    put(env, debt=1.9)
    grown = [take(env, Verb.REST)[2]["debt"] for _ in range(8)]
    assert grown == pytest.approx([min(3.0, 1.9 * 1.08**n) for n in range(1, 9)])
    put(env, debt=4.0)
    assert take(env, Verb.REST)[2]["debt"] == 4.0
    assert env.step(REST)[1] == pytest.approx(-4.0)


def test_where_debt_is_not_enforced_it_bears_no_interest():
    env = lab(debt={"enforced": False})
    put(env, debt=1.0)
    assert take(env, Verb.REST)[2]["debt"] == 1.0


def test_a_calibration_repays_before_interest_is_charged():
    env = lab()
    put(env, debt=1.0)
    _, step, after = take(env, Verb.DMSO)
    left = 1.0 - step["debt_repaid"]
    assert after["debt"] == pytest.approx(left * 1.08)


# -- the licence of an uncalibrated lot ------------------------------------------------------------


@pytest.mark.parametrize("plate", [Verb.DMSO, Verb.BASELINE, Verb.CALIBRATION])
def test_a_gain_earns_half_until_a_calibration_of_any_kind(plate):
    for seed in range(6):
        env = lab(seed=seed, **LEFT_OUT)
        _, step, after = take(env, Verb.DOSE_RESPONSE, 0, claim=2.5)
        credit = max(0.0, min(2.5, 3.0 - after["entropy"][0]))
        assert after["licence"][0] == step["licence_added"] == pytest.approx(0.5 * credit)
        assert shown(env)["lot_calibrated"] == 0.0
        _, _, after = take(env, plate)
        assert after["licence"][0] == pytest.approx(0.5 * credit)  # what was lost stays lost
        assert shown(env)["lot_calibrated"] == 1.0
        lowest = after["lowest_entropy"][1]
        _, _, after = take(env, Verb.DOSE_RESPONSE, 1, claim=2.5)
        assert after["licence"][1] == pytest.approx(max(0.0, min(2.5, lowest - after["entropy"][1])))


def test_a_new_lot_is_uncalibrated_again():
    env = lab(assay={"lot_heartbeats": 3})
    take(env, Verb.DMSO)
    flags = [bool(take(env, Verb.REST)[2]["lot_calibrated"]) for _ in range(4)]
    assert flags == [True, False, False, False]


def test_a_refused_calibration_calibrates_nothing():
    env = lab()
    put(env, wells=7)
    _, _, after = take(env, Verb.DMSO)
    assert not after["lot_calibrated"]


def test_the_flag_is_shown_where_it_matters_and_only_there():
    assert "lot_calibrated" in observation_fields(LabParams.from_mapping(RULES))
    assert "lot_calibrated" not in observation_fields(by_hand())


# -- the leak ------------------------------------------------------------------------------------


def test_what_is_left_leaks_before_the_income():
    env = lab("energy", energy={"regeneration": 3.0})
    put(env, energy=10_005)
    _, step, after = take(env, Verb.REST)
    assert after["energy"] == 10_005 - 1_000 + 3_000
    assert (step["energy_gained"], after["energy_leaked"], after["energy_lost"]) == (2_000, 1_000, 0)
    put(env, energy=20_000)
    _, step, after = take(env, Verb.REST)
    assert (after["energy"], after["energy_leaked"], after["energy_lost"]) == (20_000, 3_000, 1_000)
    assert step["energy_gained"] == 0


# -- the readers' discount -----------------------------------------------------------------------


@pytest.mark.parametrize("right", [True, False])
@pytest.mark.parametrize(("screens", "score"), [(4, 0), (2, 0), (1, 1)])
def test_readers_pay_less_for_a_right_finding_whose_words_outrun_its_plates(screens, score, right):
    env = lab("lab", adequacy={"review_from": 4, "reject_from": 4})
    study(env, screens=screens, right=right)
    put(env, heartbeat=4, energy=20_000, lot_calibrated=True)
    _, step, _ = take(env, Verb.PUBLISH_PUBLIC, 0, confidence=PLAINLY)
    assert step["adequacy"] == score
    paid = math.log2(PLAINLY * 8) * (1.0 - 0.1 * score) if right else math.log2((1 - PLAINLY) / (7 / 8))
    assert step["published_bits"] == pytest.approx(paid)


def test_where_words_have_no_consequence_nor_have_they_for_readers():
    env = lab("lab", adequacy={"enforced": False})
    study(env, screens=1)
    put(env, heartbeat=4, energy=20_000)
    _, step, _ = take(env, Verb.PUBLISH_PUBLIC, 0, confidence=PLAINLY)
    assert (step["adequacy"], step["published_bits"]) == (1, pytest.approx(math.log2(6)))


# -- all of them ---------------------------------------------------------------------------------


@settings(max_examples=8 if PLAIN else 60)
@given(st.sampled_from(["default", "two_tier", "energy", "gate", "lab"]), st.integers(0, 2**32))
def test_the_books_balance_with_all_four_rules(preset, seed):
    env = lab(preset, seed)
    rng, energy = np.random.default_rng(seed), round(1000 * env.params.energy.start)
    for _ in range(60):
        before = env.get_state()
        *_, terminated, truncated, _ = env.step(int(rng.integers(len(env.actions))))
        after, step = env.get_state(), env.batch.steps[0]
        debt = (
            before["debt"]
            + step["debt_added"]
            + step["debt_interest"]
            - step["debt_repaid"]
            - step["settled"]
        )
        assert after["debt"] == pytest.approx(debt, abs=1e-12)
        total = after["debt_added"] + after["debt_interest"] - after["debt_repaid"] - after["settled"]
        assert after["debt"] == pytest.approx(total, abs=1e-9)
        assert 0.0 <= step["debt_interest"] <= 0.08 * (before["debt"] + step["debt_added"]) + 1e-12
        assert step["debt_interest"] == 0.0 or after["debt"] + step["settled"] <= 3.0 + 1e-12
        if env.params.energy.enabled:
            income, lost = after["energy_income"] - after["energy_lost"], after["energy_leaked"]
            assert after["energy"] == energy + income - lost - after["energy_spent"] >= 0
        if terminated or truncated:
            return
