"""Rewards for training: shaping that changes no policy's worth, and findings paid by their expectation."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest

from solvent import LabEnv, LabVectorEnv
from solvent.lab.columns import potential
from solvent.lab.wrappers import ExpectedScoreVectorReward, PotentialVectorShaping
from tests.labs import LEFT_OUT

MODES = ["SameStep", "NextStep"]
SHORT = {"budget": {"wells": 150, "heartbeats": 20}}


def actions_for(n, steps):
    return np.random.default_rng(5).integers(0, 154, (steps, n))


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


@pytest.mark.parametrize("mode", MODES)
def test_shaping_telescopes_over_whole_episodes(mode):
    labs = PotentialVectorShaping(LabVectorEnv(4, SHORT, autoreset_mode=mode), gamma=1.0, well_price=0.01)
    start = 0.01 * SHORT["budget"]["wells"]
    labs.reset(seed=3)
    total, checked = np.zeros(4), 0
    for action in actions_for(4, 100):
        _, reward, terminated, truncated, infos = labs.step(action)
        total += reward
        ended = terminated | truncated
        if ended.any():
            told = infos["final_info"]["episode_summary"] if mode == "SameStep" else infos["episode_summary"]
            assert total[ended] == pytest.approx(told["return"][ended] - start, abs=1e-9)
            total[ended] = 0.0
            checked += int(ended.sum())
    assert checked > 8


def test_discounted_shaping_telescopes_too():
    labs = PotentialVectorShaping(LabVectorEnv(1, SHORT), gamma=0.9)
    labs.reset(seed=1)
    shaped = bare = 0.0
    for step, action in enumerate(actions_for(1, 60)):
        _, reward, terminated, truncated, _ = labs.step(action)
        shaped += 0.9**step * float(reward[0])
        bare += 0.9**step * float(labs.unwrapped.batch.rewards[0])
        if terminated[0] or truncated[0]:
            break
    assert shaped == pytest.approx(bare, abs=1e-9)


def test_a_partial_reset_shapes_from_the_new_start():
    labs = PotentialVectorShaping(LabVectorEnv(3, SHORT), gamma=1.0)
    labs.reset(seed=3)
    total = sum(labs.step(action)[1] for action in actions_for(3, 8))
    labs.reset(options={"reset_mask": np.array([False, True, False])})
    total[1] = 0.0
    total = total + sum(labs.step(action)[1] for action in actions_for(3, 4))
    state = labs.unwrapped.get_state()
    assert total == pytest.approx(state["score"] + potential(state), abs=1e-9)


@pytest.mark.parametrize("confidence", [0.5, 0.75, 0.95])
def test_an_expected_score_is_the_scores_mean_under_the_belief(confidence):
    labs = ExpectedScoreVectorReward(LabVectorEnv(8, LEFT_OUT))
    table = labs.unwrapped.actions
    labs.reset(seed=[3] * 8)
    deep = np.flatnonzero((table["verb"] == 5) & (table["compound"] == 2))[0]
    labs.step(np.full(8, deep))
    state = labs.unwrapped.get_state()
    state["potency"][:, 2] = np.arange(8)  # one lab for each thing that may be true
    labs.unwrapped.set_state(state)
    rows = (table["verb"] == 7) & (table["compound"] == 2) & (table["confidence"] == confidence)
    _, expected, *_ = labs.step(np.full(8, np.flatnonzero(rows)[0]))
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


@pytest.mark.parametrize("wrapper", [PotentialVectorShaping, ExpectedScoreVectorReward])
def test_only_a_vector_of_labs_can_be_wrapped(wrapper):
    other = gymnasium.make_vec("CartPole-v1", num_envs=2, vectorization_mode="sync")
    with pytest.raises(TypeError, match="allowed: a LabVectorEnv"):
        wrapper(other)
