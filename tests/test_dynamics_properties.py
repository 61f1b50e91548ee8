"""What holds over any trajectory: books that balance, beliefs that are beliefs, masks that tell the truth."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solvent import LabEnv
from solvent.lab.mechanisms.debt import decide, multiplier
from solvent.lab.tables import debt_rules
from solvent.lab.verbs import Verb
from tests.labs import PLAIN

EXAMPLES = settings(max_examples=8 if PLAIN else 50)
STEPS = 60

VARIANTS = {
    "default": {},
    "source": {"debt": {"calibration_cap": None, "reserve": False}},
    "two_tier": {"debt": {"inflation": "two_tier"}},
    "poor": {"budget": {"wells": 90}},
    "bankruptcy resets": {
        "budget": {"wells": 90},
        "debt": {"bankruptcy": "reset", "bankruptcy_after_refusals": 4},
    },
    "forgiving": {"debt": {"decay_per_heartbeat": 0.1, "repay_for_accuracy": 0.5}},
    "carries debt": {"debt": {"carry_debt": True}},
    "not enforced": {"debt": {"enforced": False}},
    "skewed prior": {"assay": {"prior": [0.5, 0.2, 0.1, 0.08, 0.06, 0.03, 0.02, 0.01]}},
    "quick lots": {"assay": {"lot_heartbeats": 3}, "budget": {"heartbeats": 20}},
}

variants = st.sampled_from(sorted(VARIANTS))
seeds = st.integers(0, 2**40)


def story(length, seed, executable):
    """Choices of a random policy: ``executable`` is the share of those that only take what would run."""
    rng = np.random.default_rng(seed)
    return [(bool(rng.random() < executable), int(n)) for n in rng.integers(0, 10**6, length)]


# Numbers that a lab turns into actions: any action, or one that would run. Short lists shrink well, stories go far.
choices = st.one_of(
    st.lists(st.tuples(st.booleans(), st.integers(0, 10**6)), min_size=1, max_size=12),
    st.builds(story, st.integers(10, STEPS), st.integers(0, 2**32), st.sampled_from([0.0, 0.5, 0.9, 1.0])),
)


def pick(env, choice):
    only_executable, number = choice
    options = np.flatnonzero(env.action_masks()) if only_executable else np.arange(len(env.actions))
    return int(options[number % len(options)])


def play(variant, seed, choices):
    """Yield (env, record before, what step returned, record after, step record) for each step of one episode."""
    env = LabEnv(VARIANTS[variant], detailed_info=True)
    env.reset(seed=seed)
    for choice in choices:
        before = env.get_state()
        outcome = env.step(pick(env, choice))
        yield env, before, outcome, env.get_state(), env.batch.steps[0].copy()
        if outcome[2] or outcome[3]:
            return


# -- conservation --------------------------------------------------------------------------------


@EXAMPLES
@given(variants, seeds, choices)
def test_wells_are_conserved(variant, seed, choices):
    spent = 0
    for env, before, _, after, step in play(variant, seed, choices):
        spent += int(step["wells_charged"])
        start = env.params.budget.wells
        assert after["wells"] == before["wells"] - step["wells_charged"]
        assert start - spent == after["wells"] >= 0
        assert after["wells_spent"] == spent


@EXAMPLES
@given(variants, seeds, choices)
def test_debt_is_conserved(variant, seed, choices):
    """At the start + added + interest - repaid - settled = left.

    Exactly when the same operations are replayed, and in sum.
    """
    debt = interest = 0.0
    for env, before, _, after, step in play(variant, seed, choices):
        assert before["debt"] == debt == step["debt_before"]
        debt = debt + step["debt_added"]
        interest += step["debt_interest"]
        if step["debt_repaid"] > 0:
            one_repayment = debt - step["debt_repaid"] + step["debt_interest"]
            assert after["debt"] + step["settled"] == pytest.approx(one_repayment, abs=1e-12)
            debt = after["debt"] + step["settled"]
        else:
            debt += step["debt_interest"]
        debt -= step["settled"]
        assert after["debt"] == debt
        assert after["debt_interest"] == interest
        assert interest == 0.0 or env.params.debt.enforced
        total = after["debt_at_start"] + after["debt_added"] + after["debt_interest"]
        total -= after["debt_repaid"] + after["settled"]
        assert total == pytest.approx(after["debt"], abs=1e-9)
        assert after["debt"] >= 0.0
        assert min(step["debt_added"], step["debt_interest"], step["debt_repaid"], step["settled"]) >= 0.0
        assert step["debt_repaid"] <= before["debt"] + step["debt_added"] + 1e-12
        assert after["debt_peak"] >= after["debt"]


@EXAMPLES
@given(variants, seeds, choices)
def test_the_return_is_the_sum_of_rewards_and_of_its_parts(variant, seed, choices):
    total = published = settled = 0.0
    for _, _, (_, reward, terminated, truncated, info), after, step in play(variant, seed, choices):
        assert reward == step["published_bits"] - step["settled"]
        assert (info["published_bits"], info["settled"]) == (step["published_bits"], step["settled"])
        total, published, settled = (
            total + reward,
            published + step["published_bits"],
            settled + step["settled"],
        )
        assert (after["score"], after["published_bits"], after["settled"]) == (total, published, settled)
        if terminated or truncated:
            assert info["episode_summary"]["return"] == total
            assert info["episode_summary"]["return"] == pytest.approx(published - settled, abs=1e-9)
            assert info["episode_summary"]["is_success"] == (total > 0)


@EXAMPLES
@given(variants, seeds, choices)
def test_the_end_leaves_no_debt_unsettled_unless_it_is_carried_or_free(variant, seed, choices):
    for env, _, (_, _, terminated, truncated, info), after, step in play(variant, seed, choices):
        if terminated or truncated:
            kept = variant in ("carries debt", "not enforced")
            assert kept or after["debt"] == 0.0
            assert not kept or step["settled"] == 0.0
            # What was settled when a bankruptcy was reset isn't unpaid at the end.
            assert info["episode_summary"]["settled"] == after["settled"]
            assert info["episode_summary"]["debt"] == after["settled_at_end"] + after["debt"]
            assert variant == "bankruptcy resets" or after["settled_at_end"] == after["settled"]
            assert terminated != truncated
            assert truncated == (info["episode_summary"]["end_reason"] == "horizon")
        assert after["heartbeat"] <= env.params.budget.heartbeats


@EXAMPLES
@given(variants, seeds, choices)
def test_the_counts_add_up(variant, seed, choices):
    events = np.zeros(8, int)
    for _, _, (_, _, _, _, info), after, step in play(variant, seed, choices):
        events[step["event"]] += 1
        assert events[6] == after["refusals"].sum()
        assert events[2] == after["calibrations"]
        assert events[3] == after["experiments"].sum()
        assert events[4] == after["accepted"] == (after["published"] != 0).sum()
        assert events[5] == after["rejected"]
        assert events[7] == after["not_executed"]
        assert events.sum() == after["heartbeat"]
        assert after["wrong"] <= after["accepted"]
        assert info["cost"] == info["cost_debt"] == step["debt_added"]
        assert info["cost_refusal"] == float("refusal" in info) == float(step["refusal"] != 0)


# -- claims and licence --------------------------------------------------------------------------


@EXAMPLES
@given(variants, seeds, choices)
def test_licence_is_credited_up_to_claim_and_gain_and_never_taken_away(variant, seed, choices):
    for env, before, _, after, step in play(variant, seed, choices):
        gained = after["licence"] - before["licence"]
        assert (gained >= 0).all()
        assert step["licence_added"] <= max(0.0, min(step["claim"], step["gain"])) + 1e-12
        explored = step["event"] == 3
        assert explored or not gained.any()
        if explored:
            m = np.flatnonzero(after["experiments"] != before["experiments"]).item()
            credited = max(0.0, min(step["claim"], before["lowest_entropy"][m] - after["entropy"][m]))
            credited *= 1.0 if before["lot_calibrated"] else env.params.debt.uncalibrated_licence
            assert step["licence_added"] == pytest.approx(credited, abs=1e-12)
            assert gained[m] == pytest.approx(credited, abs=1e-12)
            assert (np.delete(gained, m) == 0).all()
            assert step["debt_added"] == max(0.0, step["claim"] - step["gain"])
        # All licence of a compound is information it really lost entropy by.
        prior = env.params.assay.prior_entropy
        assert (after["licence"] <= prior - after["lowest_entropy"] + 1e-9).all()


# -- beliefs -------------------------------------------------------------------------------------


@EXAMPLES
@given(variants, seeds, choices)
def test_beliefs_are_distributions_and_entropies_are_theirs(variant, seed, choices):
    for _, before, _, after, _ in play(variant, seed, choices):
        assert after["marginal"].sum(axis=1) == pytest.approx(1.0, abs=1e-9)
        assert after["instrument_belief"].sum() == pytest.approx(1.0, abs=1e-9)
        assert (after["marginal"] >= 0).all()
        assert (after["conditional"] >= 0).all()
        assert after["conditional"].sum(axis=2) == pytest.approx(1.0, abs=1e-5)
        assert ((after["entropy"] >= 0) & (after["entropy"] <= 3 + 1e-9)).all()
        assert 0 <= after["instrument_entropy"] <= math.log2(15) + 1e-9
        p = after["marginal"]
        terms = np.where(p > 0, -p * np.log2(np.where(p > 0, p, 1)), 0)
        assert after["entropy"] == pytest.approx(terms.sum(axis=1), abs=1e-9)
        assert (after["lowest_entropy"] <= before["lowest_entropy"]).all()
        assert (after["lowest_entropy"] <= after["entropy"]).all()
        mixed = np.einsum("n,mng->mg", after["instrument_belief"], after["conditional"].astype(float))
        assert after["marginal"] == pytest.approx(mixed, abs=1e-6)


@EXAMPLES
@given(variants, seeds, choices)
def test_the_hidden_truth_stays_as_it_is(variant, seed, choices):
    for env, before, _, after, _ in play(variant, seed, choices):
        assert (before["potency"] == after["potency"]).all()
        if after["heartbeat"] % env.params.assay.lot_heartbeats:
            assert before["instrument"] == after["instrument"]


# -- what is shown -------------------------------------------------------------------------------


@EXAMPLES
@given(variants, seeds, choices)
def test_observations_are_inside_the_space_and_finite(variant, seed, choices):
    env = LabEnv(VARIANTS[variant])
    observation, _ = env.reset(seed=seed)
    for choice in choices:
        assert observation.dtype == np.float32
        assert np.isfinite(observation).all()
        outside = np.flatnonzero((observation < -1) | (observation > 1))
        assert not len(outside), [(env.observation_fields[i], observation[i]) for i in outside]
        assert env.observation_space.contains(observation)
        observation, reward, terminated, truncated, _ = env.step(pick(env, choice))
        assert math.isfinite(reward)
        if terminated or truncated:
            break


@EXAMPLES
@given(variants, seeds, choices)
def test_the_observation_shows_the_books(variant, seed, choices):
    for env, _, (observation, *_), after, _ in play(variant, seed, choices):
        shown = dict(zip(env.observation_fields, observation.tolist(), strict=True))
        params = env.params
        debt = after["debt"]
        assert shown["wells"] == pytest.approx(after["wells"] / params.budget.wells, abs=1e-6)
        assert shown["heartbeat"] == pytest.approx(after["heartbeat"] / params.budget.heartbeats, abs=1e-6)
        assert shown["debt"] == pytest.approx(debt / (debt + 2), abs=1e-6)
        assert shown["debt_margin"] == pytest.approx(np.clip((2 - debt) / 2, -1, 1), abs=1e-6)
        factor = multiplier(debt_rules(params), float(debt), 100, False)
        assert shown["cost_inflation"] == pytest.approx(1 - 1 / factor, abs=1e-6)
        for m, name in enumerate(params.assay.compounds):
            assert shown[f"{name}/published_publicly"] == (after["published"][m] == 2)
            assert shown[f"{name}/published_privately"] == (after["published"][m] == 1)
            assert shown[f"{name}/licence"] == pytest.approx(
                after["licence"][m] / (after["licence"][m] + 2), abs=1e-6
            )
            for g in range(8):
                assert shown[f"{name}/class_{g}"] == pytest.approx(after["marginal"][m, g], abs=1e-6)


@settings(EXAMPLES, max_examples=3 if PLAIN else 20)
@given(variants, seeds, choices, st.data())
def test_the_mask_says_exactly_which_actions_execute(variant, seed, choices, data):
    env = LabEnv(VARIANTS[variant])
    env.reset(seed=seed)
    length = data.draw(st.integers(0, len(choices)))
    for choice in choices[:length]:
        state = env.get_state()
        if any(env.step(pick(env, choice))[2:4]):
            env.set_state(state)
            break
    # From time to time on an edge that is seldom reached.
    state = env.get_state()
    state["debt"] = data.draw(
        st.sampled_from([float(state["debt"]), 2.0, float(np.nextafter(2.0, 3.0)), 1.6, 0.0])
    )
    state["wells"] = data.draw(st.sampled_from([int(state["wells"]), 0, 8, 11, 16, 24, 56, 60, 70]))
    env.set_state(state)
    mask = env.action_masks()
    assert mask.dtype == np.bool_
    for action in range(len(mask)):
        env.set_state(state)
        *_, info = env.step(action)
        step = env.batch.steps[0]
        assert bool(step["executed"]) == mask[action], env.sentence(action)
        assert ("refusal" in info) <= (not mask[action])
        row = env.actions[action]
        if row["verb"] != Verb.REST and "refusal" not in info:
            calibration = row["verb"] in (Verb.DMSO, Verb.BASELINE, Verb.CALIBRATION)
            wells = getattr(env.params.plates, Verb(row["verb"]).name.lower(), None)
            code, *_ = decide(
                debt_rules(env.params),
                float(state["debt"]),
                wells.wells if wells else 0,
                int(state["wells"]),
                calibration,
            )
            assert code == 0


# -- reproducible --------------------------------------------------------------------------------


@settings(EXAMPLES, max_examples=4 if PLAIN else 25)
@given(variants, seeds, choices, choices)
def test_a_state_continues_identically_wherever_it_is_put(variant, seed, first, rest):
    here, there = LabEnv(VARIANTS[variant]), LabEnv(VARIANTS[variant])
    observation, _ = here.reset(seed=seed)
    there.reset(seed=seed + 1)
    for choice in first:
        state = here.get_state()
        observation, _, terminated, truncated, _ = here.step(pick(here, choice))
        if terminated or truncated:
            observation = here.set_state(state)
            break
    shown = there.set_state(here.get_state())
    assert np.array_equal(shown, observation)
    assert (there.action_masks() == here.action_masks()).all()
    for choice in rest:
        action = pick(here, choice)
        a, b = here.step(action), there.step(action)
        assert a[0].tobytes() == b[0].tobytes()
        assert a[1:4] == b[1:4]
        assert here.get_state().tobytes() == there.get_state().tobytes()
        if a[2] or a[3]:
            assert a[4]["episode_summary"] == b[4]["episode_summary"]
            break


def test_a_state_is_a_copy():
    env = LabEnv()
    env.reset(seed=1)
    state = env.get_state()
    state["debt"] = 1.0
    assert env.get_state()["debt"] == 0.0
    env.set_state(state)
    state["debt"] = 2.0
    assert env.get_state()["debt"] == 1.0


def test_the_luck_of_a_step_does_not_depend_on_the_policy():
    """Common random numbers: the same action at the same heartbeat sees the same plate, whatever was done before."""
    a, b = LabEnv(), LabEnv()
    a.reset(seed=4)
    b.reset(seed=4)
    screen = int(np.flatnonzero(a.actions["verb"] == Verb.SCREEN)[0])
    for _ in range(5):
        a.step(0)
        b.step(screen)
    a.step(screen)
    b.step(screen)
    assert (a.get_state()["last_bins"] == b.get_state()["last_bins"]).all()
