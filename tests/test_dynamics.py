"""One step of the lab: refusals leave no trace but time, books by hand, every way an episode can end."""

from __future__ import annotations

import math

import numpy as np
import pytest

from solvent import LabEnv
from solvent.lab.codes import Event, Refusal
from solvent.lab.verbs import Verb
from tests.labs import ABOVE, LEFT_OUT, PLAIN, REST, changed_fields, find, open_lab, put


def lab(seed=0, **params):
    return open_lab(params, seed=seed, detailed_info=True)


def step_record(env):
    return env.batch.steps[0].copy()


def learn(env, compound=0, claim=2.5):
    """One full plate, at any price in debt."""
    return env.step(find(env, Verb.DOSE_RESPONSE, compound, claim=claim))


# -- no ghost execution --------------------------------------------------------------------------

CLOCK_AND_COUNTERS = {
    "heartbeat",
    "steps",
    "refusals",
    "refusals_in_a_row",
    "last_event",
    "last_action",
    "last_bins",
    "beats_over_threshold",
    "streak_over_threshold",
    "longest_streak",
}
NEW_LOT = {"instrument", "instrument_belief", "instrument_entropy", "coupled", "conditional"}

REFUSED = {
    Refusal.EPISTEMIC_DEBT_ACTION_BLOCKED: {"debt": ABOVE},
    Refusal.EPISTEMIC_DEBT_BUDGET_EXCEEDED: {"debt": 1.0, "wells": 50},
    Refusal.INSUFFICIENT_BUDGET_FOR_EPISTEMIC_RECOVERY: {"debt": 1.0, "wells": 60},
}


@pytest.mark.parametrize("reason", REFUSED)
def test_a_refused_action_changes_nothing_but_the_clock(reason):
    env = lab(seed=5)
    learn(env, 0)
    learn(env, 1)
    env.step(find(env, Verb.CALIBRATION))
    before = put(env, **REFUSED[reason])
    action = find(env, Verb.DOSE_RESPONSE, 2, claim=1.0)
    _, reward, terminated, truncated, info = env.step(action)
    after = env.get_state()
    assert info["refusal"] == reason.name.lower()
    assert (reward, terminated, truncated) == (0.0, False, False)
    assert changed_fields(before, after) <= CLOCK_AND_COUNTERS
    assert after["heartbeat"] == before["heartbeat"] + 1
    assert after["refusals"].tolist() == [int(reason == other) for other in REFUSED]
    assert after["refusals_in_a_row"] == 1
    assert (after["last_event"], after["last_action"]) == (Event.REFUSED, action)
    assert (after["last_bins"] == -1).all()
    step = step_record(env)
    assert not step["executed"]
    unused = (
        "wells_charged",
        "claim",
        "gain",
        "debt_added",
        "debt_repaid",
        "licence_added",
        "published_bits",
    )
    assert all(step[name] == 0 for name in unused)


def test_a_refusal_at_the_end_of_a_lot_changes_the_lot_and_nothing_else():
    env = lab(seed=5)
    learn(env, 0)
    before = put(env, debt=ABOVE, heartbeat=11)
    env.step(find(env, Verb.SCREEN, 1, claim=0.0))
    after = env.get_state()
    assert changed_fields(before, after) <= CLOCK_AND_COUNTERS | NEW_LOT
    assert (after["instrument_belief"] == 1 / 15).all()


def test_a_refused_finding_leaves_no_trace_either():
    env = lab(seed=5)
    learn(env, 0)
    before = put(env, debt=ABOVE)
    for verb in (Verb.PUBLISH_PRIVATE, Verb.PUBLISH_PUBLIC):
        _, reward, *_, info = env.step(find(env, verb, 0, confidence=0.5))
        assert reward == 0.0
        assert info["refusal"] == "epistemic_debt_action_blocked"
    assert changed_fields(before, env.get_state()) <= CLOCK_AND_COUNTERS


def test_a_refused_action_learns_the_same_luck_later():
    """What is drawn belongs to the step: the next plate is the same whether the last was refused or rested."""
    refused, rested = lab(seed=5), lab(seed=5)
    put(refused, debt=ABOVE)
    refused.step(find(refused, Verb.SCREEN, 0, claim=1.0))
    put(refused, debt=0.0)
    rested.step(REST)
    learn(refused)
    learn(rested)
    assert (refused.get_state()["last_bins"] == rested.get_state()["last_bins"]).all()


# -- refusals in the lab, at the boundaries ------------------------------------------------------


@pytest.mark.parametrize("preset", ["default", "source", "two_tier"])
def test_two_bits_of_debt_explore_and_publish_and_the_next_float_does_not(preset):
    env = LabEnv(LEFT_OUT, preset=preset)
    for action in (
        find(env, Verb.SCREEN, 3, claim=0.0),
        find(env, Verb.DOSE_RESPONSE, 3, claim=2.5),
        find(env, Verb.PUBLISH_PUBLIC, 3, confidence=0.95),
    ):
        for debt, refused in ((2.0, False), (ABOVE, True)):
            env.reset(seed=1)
            put(env, debt=debt)
            assert env.action_masks()[action] == (not refused)
            *_, info = env.step(action)
            assert ("refusal" in info) == refused
    for verb in (Verb.DMSO, Verb.BASELINE, Verb.CALIBRATION):
        env.reset(seed=1)
        put(env, debt=6.0)
        assert "refusal" not in env.step(find(env, verb))[-1]


def test_the_last_wells_can_be_spent_on_a_calibration_to_the_last_one():
    for verb, base in ((Verb.DMSO, 8), (Verb.BASELINE, 12), (Verb.CALIBRATION, 24)):
        env = lab()
        put(env, wells=base)
        _, _, _, _, info = env.step(find(env, verb))
        assert "refusal" not in info
        assert info["wells_charged"] == base
        assert env.get_state()["wells"] == 0
        env.reset()
        put(env, wells=base - 1)
        assert env.step(find(env, verb))[-1]["refusal"] == "epistemic_debt_budget_exceeded"


def test_what_is_charged_is_the_inflated_cost_rounded_up():
    env = lab()
    put(env, debt=1.6)
    *_, info = env.step(find(env, Verb.DOSE_RESPONSE, 0, claim=0.0))  # 48 * 1.24 = 59.52
    assert info["wells_charged"] == 60
    assert env.get_state()["wells"] == 384 - 60
    assert env.get_state()["wells_spent"] == 60


# -- claims --------------------------------------------------------------------------------------


@pytest.mark.parametrize("claim", [0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 2.5])
def test_the_books_of_a_claim_by_hand(claim):
    for seed in range(5):
        env = lab(seed=seed)
        before = env.get_state()["entropy"][4]
        *_, info = learn(env, 4, claim)
        after = env.get_state()
        gain = before - after["entropy"][4]
        assert info["gain"] == pytest.approx(gain, abs=1e-12)
        assert info["claim"] == claim
        assert info["cost"] == info["cost_debt"] == max(0.0, claim - info["gain"])
        assert after["debt"] == info["cost"]
        assert info["licence_added"] == pytest.approx(max(0.0, min(claim, gain)), abs=1e-12)
        assert after["licence"][4] == info["licence_added"]
        assert after["experiments"].tolist() == [0, 0, 0, 0, 1, 0, 0, 0]
        assert (after["claimed"], after["gained"]) == (claim, info["gain"])


def test_the_claim_does_not_change_what_the_plate_shows():
    states = []
    for claim in (0.0, 2.5):
        env = lab(seed=8)
        learn(env, 2, claim)
        states.append(env.get_state())
    assert (states[0]["last_bins"] == states[1]["last_bins"]).all()
    assert (states[0]["marginal"] == states[1]["marginal"]).all()


def test_an_accurate_claim_repays_nothing_unless_that_is_asked_for():
    def debt_after(share):
        env = lab(seed=3, debt={"repay_for_accuracy": share})
        put(env, debt=1.0)
        *_, info = learn(env, 0, 0.25)
        assert info["gain"] > 0.25  # an underclaim, under this seed
        return env.get_state()["debt"]

    assert debt_after(0.0) == 1.0
    assert debt_after(0.5) == 1.0 - 0.5 * 0.25


def test_an_overclaim_is_never_repaid_for_accuracy():
    env = lab(seed=3, debt={"repay_for_accuracy": 1.0})
    *_, info = learn(env, 0, 2.5)
    assert info["cost"] > 0.0
    assert info["debt_repaid"] == 0.0
    assert env.get_state()["debt"] == info["cost"]


# -- calibration ---------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", [Verb.DMSO, Verb.BASELINE, Verb.CALIBRATION])
def test_a_calibration_repays_by_what_it_teaches(verb):
    for seed in range(8):
        env = lab(seed=seed)
        put(env, debt=5.0)
        before = env.get_state()["instrument_entropy"]
        *_, info = env.step(find(env, verb))
        after = env.get_state()
        learnt = before - after["instrument_entropy"]
        repaid = min(1.0, 0.25 + min(0.75, 0.75 * max(0.0, learnt)))
        assert info["gain"] == pytest.approx(learnt, abs=1e-12)
        assert info["debt_repaid"] == pytest.approx(repaid, abs=1e-12)
        assert after["debt"] == 5.0 - info["debt_repaid"]
        assert after["calibrations"] == 1
        assert info["cost"] == 0.0
        assert after["last_event"] == Event.CALIBRATED


def test_no_more_is_repaid_than_is_owed():
    env = lab()
    put(env, debt=0.1)
    *_, info = env.step(find(env, Verb.CALIBRATION))
    assert info["debt_repaid"] == 0.1
    assert env.get_state()["debt"] == 0.0


def test_calibrating_pays_less_and_less_within_a_lot_and_again_in_the_next():
    repaid = []
    for seed in range(12):
        env = lab(seed=seed)
        put(env, debt=30.0, wells=384)
        for _ in range(13):
            put(env, wells=384)
            repaid.append(env.step(find(env, Verb.CALIBRATION))[-1]["debt_repaid"])
    by_beat = np.array(repaid).reshape(12, 13).mean(axis=0)
    assert by_beat[0] > by_beat[4] > by_beat[11] >= 0.25
    assert by_beat[12] > by_beat[11] + 0.2  # a new lot


# -- publishing ----------------------------------------------------------------------------------


def test_a_finding_without_an_experiment_is_rejected_and_its_words_are_owed():
    env = lab()
    _, reward, _, _, info = env.step(find(env, Verb.PUBLISH_PUBLIC, 0, confidence=0.75))
    after = env.get_state()
    assert reward == 0.0
    assert info["cost"] == pytest.approx(1.49, abs=0.005)
    assert after["debt"] == info["cost"]
    assert (after["rejected"], after["accepted"], after["published"][0]) == (1, 0, 0)
    assert after["last_event"] == Event.REJECTED


@pytest.mark.parametrize(
    ("confidence", "right", "wrong"), [(0.5, 2.00, -0.81), (0.75, 2.58, -1.81), (0.95, 2.93, -4.13)]
)
@pytest.mark.parametrize(("verb", "share"), [(Verb.PUBLISH_PUBLIC, 1.0), (Verb.PUBLISH_PRIVATE, 0.5)])
def test_a_finding_pays_its_log_score_and_half_of_it_in_private(verb, share, confidence, right, wrong):
    env = lab()
    learn(env, 6)
    ready = env.get_state()
    named = int(ready["marginal"][6].argmax())
    for potency, score in ((named, right), ((named + 1) % 8, wrong)):
        ready["potency"][6] = potency
        env.set_state(ready)
        _, reward, _, _, info = env.step(find(env, verb, 6, confidence=confidence))
        after = env.get_state()
        assert reward == pytest.approx(share * score, abs=0.005)
        assert reward == info["published_bits"] == after["published_bits"] == after["score"]
        assert after["published"][6] == (2 if verb == Verb.PUBLISH_PUBLIC else 1)
        assert (after["accepted"], after["wrong"]) == (1, int(potency != named))
        assert after["last_event"] == Event.PUBLISHED


@pytest.mark.parametrize(("confidence", "asserted"), [(0.5, 0.60), (0.75, 1.49), (0.95, 2.57)])
def test_asserting_more_than_is_licensed_is_an_overclaim(confidence, asserted):
    env = lab()
    learn(env, 0, 0.0)
    for licence in (0.0, 0.5, 2.0, 3.0):
        put(env, debt=0.0, licence=[licence] * 8, published=[0] * 8)
        *_, info = env.step(find(env, Verb.PUBLISH_PUBLIC, 0, confidence=confidence))
        assert info["claim"] == pytest.approx(asserted, abs=0.005)
        assert info["cost"] == pytest.approx(max(0.0, asserted - licence), abs=0.005)
        assert env.get_state()["debt"] == info["cost"]


@pytest.mark.parametrize("first", [Verb.PUBLISH_PRIVATE, Verb.PUBLISH_PUBLIC])
@pytest.mark.parametrize("second", [Verb.PUBLISH_PRIVATE, Verb.PUBLISH_PUBLIC])
def test_a_compound_is_published_once(first, second):
    env = lab()
    learn(env, 0)
    put(env, debt=0.0)
    env.step(find(env, first, 0, confidence=0.5))
    before = env.get_state()
    again = find(env, second, 0, confidence=0.95)
    assert not env.action_masks()[again]
    _, reward, _, _, info = env.step(again)
    after = env.get_state()
    assert reward == 0.0
    assert "refusal" not in info
    assert after["last_event"] == Event.NOT_EXECUTED
    assert after["not_executed"] == 1
    assert changed_fields(before, after) <= {
        "heartbeat",
        "steps",
        "last_event",
        "last_action",
        "not_executed",
    }


def test_publishing_uses_no_wells_and_moves_no_belief():
    env = lab()
    learn(env, 0)
    before = env.get_state()
    env.step(find(env, Verb.PUBLISH_PUBLIC, 0, confidence=0.5))
    after = env.get_state()
    for name in (
        "wells",
        "instrument_belief",
        "conditional",
        "marginal",
        "entropy",
        "licence",
        "experiments",
    ):
        assert np.array_equal(before[name], after[name]), name


# -- ends ----------------------------------------------------------------------------------------


def test_the_horizon_truncates_and_settles():
    env = lab(seed=4)
    learn(env, 0, 2.5)
    debt = env.get_state()["debt"]
    assert debt > 0.0
    for beat in range(39):
        _, reward, terminated, truncated, info = env.step(REST)
        assert (terminated, truncated) == (False, beat == 38)
    assert reward == -debt == -info["settled"]
    episode = info["episode_summary"]
    assert episode["end_reason"] == "horizon"
    assert (episode["length"], episode["return"], episode["debt"]) == (40, -debt, debt)
    assert env.get_state()["debt"] == 0.0


def test_exhausted_when_nothing_but_resting_can_ever_run():
    env = lab()
    put(env, wells=7, debt=1.5, published=[2] * 8)
    _, reward, terminated, truncated, info = env.step(REST)
    assert (terminated, truncated) == (True, False)
    assert info["episode_summary"]["end_reason"] == "exhausted"
    assert reward == -1.5


@pytest.mark.parametrize(
    "fields",
    [
        {"wells": 8, "published": [2] * 8},  # dmso
        {"wells": 7, "published": [2] * 7 + [0]},  # a finding
        {"wells": 384, "published": [2] * 8},
        {"wells": 0, "published": [0] * 8, "debt": 2.0},
    ],
)
def test_not_exhausted_while_anything_can_run(fields):
    env = lab()
    put(env, **fields)
    assert env.action_masks()[1:].any()
    _, _, terminated, truncated, _ = env.step(REST)
    assert (terminated, truncated) == (False, False)


def test_a_lab_whose_debt_time_will_forgive_is_not_exhausted():
    env = lab(debt={"decay_per_heartbeat": 0.1, "bankruptcy": "reset"})
    put(env, wells=8, debt=1.5, published=[2] * 8)  # dmso costs 9.8 wells now, 8 when the debt is gone
    assert not env.action_masks()[1:].any()
    _, _, terminated, _, _ = env.step(REST)
    assert not terminated


def test_bankrupt_above_the_threshold_with_no_calibration_affordable():
    env = lab()
    put(env, debt=ABOVE, wells=11)  # dmso costs 10.4
    assert env.step(REST)[2:4] == (False, False)
    put(env, debt=ABOVE, wells=10)
    _, reward, terminated, truncated, info = env.step(REST)
    assert (terminated, truncated) == (True, False)
    assert info["episode_summary"]["end_reason"] == "bankrupt"
    assert reward == -ABOVE


def test_the_claim_that_goes_too_far_bankrupts():
    env = lab(seed=4)
    put(env, debt=2.0, wells=48 * 2)  # 62.4 wells: 63 of 96, 33 left; dmso then costs at most 12
    *_, info = learn(env, 0, 2.5)
    assert "episode_summary" not in info
    env.reset(seed=4)
    put(env, debt=2.0, wells=63 + 11)
    _, reward, terminated, _, info = learn(env, 0, 2.5)
    debt = 2.0 + info["cost"]
    assert math.ceil(8 * min(1.5, 1 + 0.15 * debt)) > 11
    assert terminated
    assert info["episode_summary"]["end_reason"] == "bankrupt"
    assert reward == pytest.approx(-debt)


def test_bankruptcy_can_settle_at_once_and_go_on():
    env = lab(debt={"bankruptcy": "reset"})
    put(env, debt=3.0, wells=10)
    _, reward, terminated, truncated, info = env.step(REST)
    assert (terminated, truncated) == (False, False)
    assert reward == -3.0 == -info["settled"]
    after = env.get_state()
    assert (after["debt"], after["settled"], after["bankruptcies"], after["score"]) == (0.0, 3.0, 1, -3.0)
    assert env.action_masks()[find(env, Verb.DMSO)]


def test_bankrupt_after_refusals_in_a_row():
    env = lab(debt={"bankruptcy_after_refusals": 3})
    put(env, debt=2.5)
    screen = find(env, Verb.SCREEN, 0, claim=0.0)
    assert env.step(screen)[2:4] == (False, False)
    assert env.step(screen)[2:4] == (False, False)
    _, reward, terminated, _, info = env.step(screen)
    assert terminated
    assert info["episode_summary"]["end_reason"] == "bankrupt"
    assert info["episode_summary"]["refusals"]["epistemic_debt_action_blocked"] == 3
    assert reward == -2.5


def test_an_action_that_runs_breaks_the_row_of_refusals():
    env = lab(debt={"bankruptcy_after_refusals": 2})
    put(env, debt=2.5)
    screen = find(env, Verb.SCREEN, 0, claim=0.0)
    for _ in range(6):
        assert env.step(screen)[2:4] == (False, False)
        assert env.get_state()["refusals_in_a_row"] == 1
        assert env.step(REST)[2:4] == (False, False)
        assert env.get_state()["refusals_in_a_row"] == 0


def test_bankruptcy_after_refusals_can_be_reset_as_well():
    env = lab(debt={"bankruptcy_after_refusals": 2, "bankruptcy": "reset"})
    put(env, debt=2.5)
    screen = find(env, Verb.SCREEN, 0, claim=0.0)
    env.step(screen)
    _, reward, terminated, _, _ = env.step(screen)
    assert (reward, terminated) == (-2.5, False)
    put(env, debt=2.5)
    assert env.step(screen)[1] == 0.0  # refused again: the row starts anew
    assert env.step(screen)[1] == -2.5
    assert "refusal" not in env.step(screen)[-1]


@pytest.mark.skipif(not PLAIN, reason="another action is another shape: the plain pass has it")
def test_the_agent_can_end_the_episode_where_that_is_offered():
    env = lab(vocabulary={"extra": ["terminate"]})
    end = find(env, Verb.TERMINATE)
    assert end == len(env.actions) - 1
    put(env, debt=1.25)
    _, reward, terminated, truncated, info = env.step(end)
    assert (reward, terminated, truncated) == (-1.25, True, False)
    assert info["episode_summary"]["end_reason"] == "terminated_by_agent"
    env.reset()
    put(env, debt=50.0)
    assert env.action_masks()[end]  # never refused
    assert env.step(end)[1:3] == (-50.0, True)


def test_ending_is_not_offered_by_default():
    assert Verb.TERMINATE not in lab().actions["verb"]


# -- the document's open questions ---------------------------------------------------------------


def test_debt_is_carried_over_unsettled_within_a_stream_where_that_is_asked_for():
    env = lab(seed=7, debt={"carry_debt": True})
    put(env, debt=1.5)
    for _ in range(40):
        _, reward, _, truncated, info = env.step(REST)
    assert truncated
    assert reward == 0.0
    assert (info["episode_summary"]["debt"], info["episode_summary"]["return"]) == (1.5, 0.0)
    env.reset()
    state = env.get_state()
    assert (state["debt"], state["debt_at_start"], state["wells"]) == (1.5, 1.5, 384)
    env.reset(seed=7)
    assert (env.get_state()["debt"], env.get_state()["debt_at_start"]) == (0.0, 0.0)


def test_time_forgives_a_share_of_the_debt_where_that_is_asked_for():
    env = lab(debt={"decay_per_heartbeat": 0.25})
    put(env, debt=2.0)
    *_, info = env.step(REST)
    assert env.get_state()["debt"] == 1.5
    assert info["debt_repaid"] == 0.5
    env.step(REST)
    assert env.get_state()["debt"] == 1.125


# -- not enforced --------------------------------------------------------------------------------


def test_without_enforcement_debt_is_tracked_and_has_no_consequence():
    env = lab(seed=4, debt={"enforced": False})
    truth, contaminated = env.get_state()["potency"], []
    for beat in range(4):
        *_, info = learn(env, beat, 2.5)
        contaminated.append(info["contaminated"])
        assert info["wells_charged"] == 48
    assert env.get_state()["debt"] > 2.0
    put(env, wells=48)
    *_, info = learn(env, 4, 2.5)  # no threshold, no inflation, no reserve
    assert "refusal" not in info
    debt = env.get_state()["debt"]
    total = 0.0
    truncated = False
    while not truncated:
        _, reward, terminated, truncated, info = env.step(REST)
        contaminated.append(info["contaminated"])
        assert not terminated  # eight findings can be published for nothing
        total += reward
    assert total == 0.0  # never settled
    assert info["episode_summary"]["debt"] == debt
    assert info["episode_summary"]["contaminated"] is True
    assert all(contaminated)
    assert (env.get_state()["potency"] == truth).all()


# -- presets -------------------------------------------------------------------------------------


def test_refusals_that_lead_to_a_reset_are_a_way_out_of_exhaustion():
    env = lab(debt={"bankruptcy": "reset", "bankruptcy_after_refusals": 2})
    state = env.get_state()
    state["wells"], state["debt"], state["published"] = 9, 1.9, 2
    env.set_state(state)
    _, _, terminated, _, _ = env.step(1)
    assert not terminated
    _, reward, terminated, _, info = env.step(1)
    assert not terminated
    assert reward == -1.9
    _, _, _, _, info = env.step(1)
    assert "refusal" not in info
