"""Wrappers: costs beside rewards, parts that sum to the whole, and shaping that changes no policy's worth."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest

from solvent import LabEnv, LabVectorEnv
from solvent.lab.columns import potential
from solvent.lab.wrappers import (
    CostTuple,
    ExpectedScoreVectorReward,
    LagrangianReward,
    LagrangianVectorReward,
    PotentialShaping,
    PotentialVectorShaping,
    VectorReward,
)
from tests.labs import LEFT_OUT

MODES = ["SameStep", "NextStep"]
SHORT = {"budget": {"wells": 150, "heartbeats": 20}}
CARRIES = {**SHORT, "debt": {"carry_debt": True}}


def act(env, rng):
    """Any action, or one that would run: gains licence, debt and findings."""
    mask = env.unwrapped.action_masks()
    return int(rng.choice(np.flatnonzero(mask))) if rng.random() < 0.8 else int(rng.integers(len(mask)))


def run(env, seed, policy_seed=0):
    """One episode: what each step returned, with the bare reward and the potential before and after it."""
    rng = np.random.default_rng(policy_seed)
    env.reset(seed=seed)
    inner, steps, over = env.unwrapped, [], False
    while not over:
        before = float(potential(inner.batch.labs)[0])
        told = env.step(act(env, rng))
        over = told[-3] or told[-2]
        steps.append((told, float(inner.batch.rewards[0]), before))
    return steps


# -- costs and parts -----------------------------------------------------------------------------


def test_the_sixth_value_is_the_new_debt():
    for (_, reward, cost, _, _, info), bare, _ in run(CostTuple(gymnasium.make("Solvent/Debt-v0")), 1):
        assert cost == info["cost"] >= 0.0
        assert reward == bare


@pytest.mark.parametrize("params", [SHORT, CARRIES, {**SHORT, "debt": {"bankruptcy": "reset"}}])
def test_the_vector_reward_sums_to_the_scalar(params):
    env = VectorReward(LabEnv(params))
    settled = published = 0.0
    for seed in range(10):
        for (_, parts, *_), bare, _ in run(env, seed, policy_seed=seed):
            assert parts.shape == env.reward_space.shape == (2,)
            assert parts.sum() == bare
            assert parts[1] <= 0.0
            published, settled = published + parts[0], settled - parts[1]
    assert published != 0.0
    assert (settled > 0.0) == (params is not CARRIES)


@pytest.mark.parametrize("multiplier", [0.0, 0.5, 3.0])
def test_the_lagrangian_charges_each_bit_of_new_debt(multiplier):
    for (_, reward, _, _, info), bare, _ in run(LagrangianReward(LabEnv(SHORT), multiplier), 2):
        assert reward == bare - multiplier * info["cost"]


# -- potential-based shaping ---------------------------------------------------------------------


def test_the_potential_is_licence_of_what_is_unpublished_less_debt():
    env = LabEnv()
    env.reset(seed=0)
    state = env.get_state()
    assert potential(env.batch.labs).tolist() == [0.0]
    state["licence"] = [1.0, 2.0, 0.0, 0.5, 0, 0, 0, 0]
    state["published"] = [0, 2, 0, 1, 0, 0, 0, 0]
    state["debt"] = 0.25
    env.set_state(state)
    assert potential(env.batch.labs).tolist() == [0.7 * 1.0 - 0.25]
    assert potential(env.batch.labs, 0.0).tolist() == [-0.25]


@pytest.mark.parametrize("params", [SHORT, CARRIES, {}])
@pytest.mark.parametrize("seed", range(5))
def test_shaping_telescopes_the_sum_is_the_return_less_the_potential_of_the_start(params, seed):
    env = PotentialShaping(LabEnv(params), gamma=1.0)
    steps = run(env, seed)
    start = steps[0][2]
    shaped = [step[0][1] for step in steps]
    bare = [step[1] for step in steps]
    assert sum(shaped) == pytest.approx(sum(bare) - start, abs=1e-9)
    assert shaped != bare


def test_an_episode_that_starts_in_debt_telescopes_too():
    env = PotentialShaping(LabEnv(CARRIES), gamma=1.0)
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    starts = []
    for _ in range(6):
        start = float(potential(env.unwrapped.batch.labs)[0])
        starts.append(start)
        total = bare = 0.0
        over = False
        while not over:
            _, reward, terminated, truncated, _ = env.step(act(env, rng))
            total, bare = total + reward, bare + float(env.unwrapped.batch.rewards[0])
            over = terminated or truncated
        assert total == pytest.approx(bare - start, abs=1e-9)
        env.reset()
    assert min(starts) < 0.0


@pytest.mark.parametrize("gamma", [0.9, 0.99])
def test_discounted_shaping_telescopes_too(gamma):
    env = PotentialShaping(LabEnv(SHORT), gamma=gamma)
    for seed in range(5):
        steps = run(env, seed)
        shaped = sum(gamma**t * step[0][1] for t, step in enumerate(steps))
        bare = sum(gamma**t * step[1] for t, step in enumerate(steps))
        assert shaped == pytest.approx(bare - steps[0][2], abs=1e-9)


def test_shaping_says_at_once_what_a_claim_was_worth():
    env = PotentialShaping(LabEnv(detailed_info=True), gamma=1.0, licence_weight=0.7)
    env.reset(seed=3)
    action = np.flatnonzero((env.unwrapped.actions["verb"] == 5) & (env.unwrapped.actions["claim"] == 1.0))[0]
    _, reward, _, _, info = env.step(action)
    assert reward == pytest.approx(0.7 * info["licence_added"] - info["cost"] - info["debt_interest"])


# -- vectors -------------------------------------------------------------------------------------


def actions_for(n, steps=70):
    return np.random.default_rng(5).integers(0, 154, (steps, n))


def single_rewards(wrap, params, seed, actions, mode):
    """The rewards that one wrapped single lab earns when it is reset as the mode says."""
    env = wrap(LabEnv(params))
    env.reset(seed=seed)
    rewards, over = [], False
    for action in actions:
        if over and mode == "NextStep":
            env.reset()
            rewards.append(0.0)
            over = False
            continue
        _, reward, terminated, truncated, _ = env.step(action)
        rewards.append(reward)
        over = terminated or truncated
        if over and mode == "SameStep":
            env.reset()
    return rewards


PAIRS = {
    "a price of wells": (
        lambda e: PotentialShaping(e, 0.99, well_price=0.02),
        lambda e: PotentialVectorShaping(e, 0.99, well_price=0.02),
    ),
    "shaping": (lambda e: PotentialShaping(e, 0.99), lambda e: PotentialVectorShaping(e, 0.99)),
    "shaping without discount": (PotentialShaping, PotentialVectorShaping),
    "lagrangian": (lambda e: LagrangianReward(e, 0.5), lambda e: LagrangianVectorReward(e, 0.5)),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("params", [SHORT, CARRIES])
def test_a_wrapped_vector_earns_what_wrapped_single_labs_earn(name, params, mode):
    single, vector = PAIRS[name]
    actions = actions_for(3)
    labs = vector(LabVectorEnv(3, params, autoreset_mode=mode))
    labs.reset(seed=30)
    earned = np.array([labs.step(action)[1] for action in actions])
    for i in range(3):
        assert earned[:, i].tolist() == single_rewards(single, params, 30 + i, actions[:, i], mode)


@pytest.mark.parametrize("mode", MODES)
def test_a_shaped_vector_telescopes_over_whole_episodes(mode):
    labs = PotentialVectorShaping(LabVectorEnv(4, SHORT, autoreset_mode=mode), gamma=1.0)
    labs.reset(seed=3)
    total = np.zeros(4)
    checked = 0
    for action in actions_for(4, 100):
        _, reward, terminated, truncated, infos = labs.step(action)
        total += reward
        ended = terminated | truncated
        if ended.any():
            episode = (
                infos["final_info"]["episode_summary"] if mode == "SameStep" else infos["episode_summary"]
            )
            assert total[ended] == pytest.approx(episode["return"][ended], abs=1e-9)
            total[ended] = 0.0
            checked += int(ended.sum())
    assert checked > 8


def test_a_partial_reset_shapes_from_the_new_start():
    labs = PotentialVectorShaping(LabVectorEnv(3, SHORT), gamma=1.0)
    labs.reset(seed=3)
    total = np.zeros(3)
    for action in actions_for(3, 8):
        total += labs.step(action)[1]
    labs.reset(options={"reset_mask": np.array([False, True, False])})
    total[1] = 0.0
    bare = labs.unwrapped.get_state()["score"]
    assert total + 0 == pytest.approx(bare + potential(labs.unwrapped.get_state()), abs=1e-9)
    for action in actions_for(3, 4):
        total += labs.step(action)[1]
    state = labs.unwrapped.get_state()
    assert total == pytest.approx(state["score"] + potential(state), abs=1e-9)


def test_shaping_goes_on_from_a_state_that_was_put():
    labs = PotentialVectorShaping(LabVectorEnv(2, SHORT, preset="version_1"), gamma=1.0)
    labs.reset(seed=3)
    state = labs.unwrapped.get_state()
    state["debt"] = 1.5
    labs.unwrapped.set_state(state)
    labs.continue_from_state()
    assert labs.step(np.zeros(2, np.int64))[1].tolist() == [0.0, 0.0]


# -- expected scores -----------------------------------------------------------------------------


@pytest.mark.parametrize("verb", [6, 7])
@pytest.mark.parametrize("confidence", [0.5, 0.75, 0.95])
def test_an_expected_score_is_the_scores_mean_under_the_belief(verb, confidence):
    labs = ExpectedScoreVectorReward(LabVectorEnv(8, LEFT_OUT))
    table = labs.unwrapped.actions
    labs.reset(seed=[3] * 8)
    deep = np.flatnonzero((table["verb"] == 5) & (table["compound"] == 2))[0]
    labs.step(np.full(8, deep))
    state = labs.unwrapped.get_state()
    state["potency"][:, 2] = np.arange(8)  # one lab for each thing that may be true
    labs.unwrapped.set_state(state)
    action = np.flatnonzero(
        (table["verb"] == verb) & (table["compound"] == 2) & (table["confidence"] == confidence)
    )
    _, expected, *_ = labs.step(np.full(8, action[0]))
    bare = labs.unwrapped.batch.rewards
    assert len(set(bare)) == 2  # right or wrong
    assert expected == pytest.approx(np.full(8, (state["marginal"][0, 2] * bare).sum()), abs=1e-12)


@pytest.mark.parametrize("mode", MODES)
def test_only_accepted_findings_are_paid_otherwise(mode):
    labs = ExpectedScoreVectorReward(LabVectorEnv(4, SHORT, autoreset_mode=mode))
    labs.reset(seed=0)
    differ = 0
    for action in actions_for(4, 400):
        _, reward, *_ = labs.step(action)
        batch = labs.unwrapped.batch
        published = batch.steps["event"] == 4
        assert (reward[~published] == batch.rewards[~published]).all()
        differ += int((reward != batch.rewards).sum())
    assert differ > 5


@pytest.mark.parametrize(
    "wrapper", [PotentialVectorShaping, LagrangianVectorReward, ExpectedScoreVectorReward]
)
def test_only_a_vector_of_labs_can_be_wrapped(wrapper):
    other = gymnasium.make_vec("CartPole-v1", num_envs=2, vectorization_mode="sync")
    with pytest.raises(TypeError, match="allowed: a LabVectorEnv"):
        wrapper(other)
