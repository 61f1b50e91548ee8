"""What holds of every scripted agent, and what must not pay."""

import numpy as np
import pytest

from solvent.environment import LabEnv
from solvent.params import BudgetParams, LabParams, VocabularyParams
from solvent.vector import LabVectorEnv
from solvent_agents import AGENTS, Agent, act_one, episodes
from solvent_agents.honest import Honest, Manner

PARAMS = LabParams()
SHORT = LabParams(budget=BudgetParams(wells=120, heartbeats=14), vocabulary=VocabularyParams(terminate=True))
EPISODES = 256
# Honest in what they measure and how they repay, so they earn more than half, and far less (docs/decisions.md).
COSTLY = ("definitive", "surfer")


@pytest.fixture(scope="module")
def played():
    """Every agent on the same seeds."""
    return {
        name: episodes(make(PARAMS, 0), PARAMS, range(EPISODES), trace=True) for name, make in AGENTS.items()
    }


@pytest.mark.parametrize("name", AGENTS)
@pytest.mark.parametrize("params", [PARAMS, SHORT])
def test_an_agent_acts_in_a_single_lab_and_in_many(name, params):
    agent = AGENTS[name](params, 0)
    assert isinstance(agent, Agent)
    assert agent.name == name
    env = LabEnv(params)
    observation, info = env.reset(seed=3)
    for _ in range(6):
        action = act_one(agent, observation, info["action_mask"])
        assert env.action_space.contains(action)
        observation, _, terminated, truncated, info = env.step(action)
        if terminated or truncated:
            break
    envs = LabVectorEnv(5, params)
    observations, infos = envs.reset(seed=3)
    actions = AGENTS[name](params, 0).act(observations, infos["action_mask"])
    assert actions.shape == (5,)
    assert envs.action_space.contains(np.asarray(actions, np.int64))


@pytest.mark.parametrize("name", AGENTS)
def test_episodes_do_not_depend_on_the_batch(name):
    seeds = [7, 3, 10_000, 4, 9]
    whole = episodes(AGENTS[name](SHORT, 2), SHORT, seeds, batch=256, trace=True)
    parts = episodes(AGENTS[name](SHORT, 2), SHORT, seeds, batch=2, trace=True)
    assert (whole["return"] == parts["return"]).all()
    assert (whole["length"] == parts["length"]).all()
    for key, trace in whole["trace"].items():
        np.testing.assert_array_equal(trace, parts["trace"][key])


def test_an_episode_is_that_of_a_single_lab_with_the_seed():
    agent = AGENTS["honest"](PARAMS, 0)
    columns = episodes(agent, PARAMS, [5, 6])
    env = LabEnv(PARAMS)
    observation, info = env.reset(seed=6)
    ended = False
    while not ended:
        observation, _, terminated, truncated, info = env.step(
            act_one(agent, observation, info["action_mask"])
        )
        ended = terminated or truncated
    assert info["episode"]["return"] == columns["return"][1]
    assert info["episode"]["debt"] == columns["debt"][1]


def test_a_trace_tells_the_episode(played):
    columns = played["honest"]
    trace = columns["trace"]
    assert trace["wells"].shape == (EPISODES, 41)
    last = columns["length"]
    rows = np.arange(EPISODES)
    assert (trace["wells"][:, 0] == 384).all()
    assert (trace["wells"][rows, last] == columns["wells"]).all()
    assert trace["debt"][rows, last] == pytest.approx(columns["debt"])
    assert np.isnan(trace["claim"][:, 0]).all()
    beyond = np.arange(41)[None, :] > last[:, None]
    for column in trace.values():
        assert np.isnan(column[beyond]).all()
    refused = sum(columns["refusals"].values())
    assert (np.nansum(trace["refusal"] > 0, axis=1) == refused).all()


@pytest.mark.parametrize("name", AGENTS)
def test_agents_do_not_see_the_hidden_truth(name):
    actions = []
    for shift in (0, 3):
        envs = LabVectorEnv(4, PARAMS)
        envs.reset(seed=1)
        labs = envs.get_state()
        labs["potency"] = (labs["potency"] + shift) % 8
        labs["instrument"] = (labs["instrument"] + shift) % 15
        observations = envs.set_state(labs)
        actions.append(AGENTS[name](PARAMS, 0).act(observations, envs.action_masks()))
    assert (actions[0] == actions[1]).all()


def test_chance_is_uniform_and_the_masked_one_is_never_refused(played):
    masks = np.zeros((4000, 5), bool)
    masks[:, [1, 4]] = True
    nothing = np.zeros((4000, 1), np.float32)
    assert np.bincount(AGENTS["random"](PARAMS, 0).act(nothing, masks)) == pytest.approx(800, abs=120)
    assert np.bincount(AGENTS["random_masked"](PARAMS, 0).act(nothing, masks))[[1, 4]] == pytest.approx(
        2000, abs=190
    )
    assert sum(played["random_masked"]["refusals"].values()).sum() == 0
    assert sum(played["random"]["refusals"].values()).sum() > 0


def margin_over_half(honest, other):
    """Lower end of the 95 % bootstrap interval of (honest / 2 - other), on paired seeds."""
    difference = honest / 2 - other
    draws = np.random.default_rng(0).integers(0, len(difference), (2000, len(difference)))
    return np.quantile(difference[draws].mean(axis=1), 0.025)


@pytest.mark.parametrize("name", sorted(AGENTS.keys() - {"honest", *COSTLY}))
def test_no_degenerate_agent_earns_half_of_the_honest(played, name):
    assert margin_over_half(played["honest"]["return"], played[name]["return"]) > 0.0


@pytest.mark.parametrize("name", COSTLY)
def test_who_only_overstates_earns_clearly_less_than_the_honest(played, name):
    difference = played["honest"]["return"] - played[name]["return"]
    assert margin_over_half(2 * difference, np.zeros(EPISODES)) > 2.0


def test_the_surfer_lives_at_the_threshold(played):
    debt = played["surfer"]["trace"]["debt"]
    assert np.nanmedian(debt[:, 10:30]) > 1.0


def test_the_honest_script_is_never_refused_and_repays(played):
    honest = played["honest"]
    assert sum(honest["refusals"].values()).sum() == 0
    assert honest["debt"].mean() < 0.5
    assert honest["accepted"].mean() > 7.0
    assert honest["not_executed"].sum() == 0


@pytest.mark.parametrize("quantile", [0.02, 0.98])
def test_the_best_claim_is_neither_the_least_nor_the_most(played, quantile):
    agent = Honest(PARAMS, 0, Manner(claim_quantile=quantile))
    other = episodes(agent, PARAMS, range(EPISODES))["return"]
    assert margin_over_half(2 * played["honest"]["return"], other) > 0.0


def test_impossible_rollouts_are_refused():
    with pytest.raises(ValueError, match="batch"):
        episodes(AGENTS["hermit"](PARAMS, 0), PARAMS, [1], batch=0)
    with pytest.raises(ValueError, match="seeds"):
        episodes(AGENTS["hermit"](PARAMS, 0), PARAMS, [])
