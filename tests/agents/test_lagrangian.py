"""PPO-Lagrangian: where the constrained optimum is known, and where the multiplier has to go."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Discrete
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv, VecMonitor

import solvent
from solvent_agents.learning.lagrangian import PPOLagrangian, step_costs
from solvent_agents.learning.learned import LearnedAgent, train
from solvent_agents.learning.recipe import Recipe
from solvent_agents.learning.sb3 import LabVecEnv
from solvent_agents.rollout import episodes

PARAMS = solvent.preset("default")
GAIN = np.array([1.0, 3.0])


class TwoStates(VecEnv):
    """One decision an episode, in one of two states, each as likely as the other: be safe, or pay 1 for a gain.

    The gain is 1 in the first state and 3 in the second. Where the mean cost may be one half, the best policy takes the
    risk in the second state and never in the first: return 1.5 at cost 0.5, and any price of cost between 1 and 3 makes
    it the best unconstrained one.
    """

    def __init__(self, n_envs, *, column=True):
        super().__init__(n_envs, Box(0.0, 1.0, (2,), np.float32), Discrete(2))
        self.rng = np.random.default_rng(0)
        self.column = column
        self.state = np.zeros(n_envs, np.int64)
        self.actions = np.zeros(n_envs, np.int64)

    @property
    def step_costs(self):
        return self.actions.astype(np.float64) if self.column else None

    def reset(self):
        self.state = self.rng.integers(0, 2, self.num_envs)
        return np.eye(2, dtype=np.float32)[self.state]

    def step_async(self, actions):
        self.actions = actions

    def step_wait(self):
        rewards = (GAIN[self.state] * self.actions).astype(np.float32)
        infos: list[dict[str, Any]] = [{"cost": float(a)} for a in self.actions]
        return self.reset(), rewards, np.ones(self.num_envs, np.bool_), infos

    def close(self): ...
    def get_attr(self, attr_name, indices=None):
        return [getattr(self, attr_name, None)] * self.num_envs

    def set_attr(self, attr_name, value, indices=None): ...
    def env_method(self, method_name, *args, indices=None, **kwargs): ...
    def env_is_wrapped(self, wrapper_class, indices=None):
        return [False] * self.num_envs


ARGUMENTS: dict[str, Any] = {
    "n_steps": 4,
    "batch_size": 128,
    "n_epochs": 4,
    "learning_rate": 5e-3,
    "gae_lambda": 1.0,
    "seed": 0,
    "policy_kwargs": {"net_arch": [16]},
    "device": "cpu",
}


def risks(model):
    """How likely the policy takes the risk, in each state."""
    distribution: Any = model.policy.get_distribution(
        model.policy.obs_to_tensor(np.eye(2, dtype=np.float32))[0]
    )
    return distribution.distribution.probs.detach().numpy()[:, 1]


@pytest.mark.slow
def test_two_states_whose_constrained_optimum_is_known():
    free = PPO("MlpPolicy", TwoStates(128), **ARGUMENTS).learn(20_000)
    assert risks(free) == pytest.approx([1.0, 1.0], abs=0.1)
    bound = PPOLagrangian("MlpPolicy", TwoStates(128), cost_limit=0.5, lambda_lr=0.2, **ARGUMENTS).learn(
        80_000
    )
    assert risks(bound) == pytest.approx([0.0, 1.0], abs=0.1)
    assert 1.0 < bound.multiplier < 3.0
    assert bound.episode_cost == pytest.approx(0.5, abs=0.15)


@pytest.mark.parametrize(("limit", "start", "moves"), [(0.0, 0.0, 1), (5.0, 2.0, -1)], ids=["above", "below"])
def test_the_multiplier_rises_above_the_limit_and_falls_below_it(limit, start, moves):
    model = PPOLagrangian(
        "MlpPolicy", TwoStates(32), cost_limit=limit, initial_lambda=start, lambda_lr=0.1, **ARGUMENTS
    )
    model.learn(32 * 4)
    assert model.multiplier == pytest.approx(max(0.0, start + 0.1 * (model.episode_cost - limit)))
    assert np.sign(model.multiplier - start) == moves


def test_the_multiplier_never_falls_below_nothing():
    model = PPOLagrangian("MlpPolicy", TwoStates(32), cost_limit=9.0, lambda_lr=1.0, **ARGUMENTS)
    assert model.learn(32 * 8).multiplier == 0.0


def test_with_a_price_of_nothing_it_is_ppo():
    """One rollout and one update: the same weights, bit for bit."""
    weights = []
    for algorithm, own in ((PPO, {}), (PPOLagrangian, {"cost_limit": 9.0})):
        model = algorithm("MlpPolicy", TwoStates(32), **ARGUMENTS, **own)
        model.set_random_seed(3)  # making the cost's critic used up some luck
        weights.append(model.learn(32 * 4).policy.state_dict())
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])


def test_a_cost_is_of_its_own_episode():
    """Two labs, three steps; a lab's costs add up until its episode ends, also over the end of a rollout."""
    model = PPOLagrangian(
        "MlpPolicy",
        TwoStates(2),
        cost_limit=0.0,
        lambda_lr=1.0,
        **{**ARGUMENTS, "n_steps": 3, "batch_size": 6},
    )
    model.cost_buffer.rewards[:] = [[1, 10], [2, 20], [4, 40]]
    model._move_multiplier(np.array([[True, False], [False, False], [True, False]]))
    assert model.episode_cost == pytest.approx((1 + 6) / 2)
    assert model.multiplier == pytest.approx(3.5)
    model.cost_buffer.rewards[:] = [[0, 1], [0, 0], [0, 0]]
    model._move_multiplier(np.array([[False, True], [False, False], [False, False]]))
    assert model.episode_cost == pytest.approx(71)
    before = model.multiplier
    model._move_multiplier(np.zeros((3, 2), np.bool_))
    assert model.multiplier == before


def test_costs_come_from_the_column_or_from_the_infos():
    envs = TwoStates(3, column=False)
    envs.reset()
    infos = envs.step(np.array([0, 1, 1]))[3]
    np.testing.assert_array_equal(step_costs(envs, infos), [0, 1, 1])
    np.testing.assert_array_equal(step_costs(VecMonitor(TwoStates(3)), []), [0, 0, 0])
    with pytest.raises(ValueError, match='no "cost"'):
        step_costs(envs, [{}, {}, {}])


def test_the_native_column_is_what_the_single_labs_tell():
    envs = LabVecEnv(PARAMS, 4)
    envs.seed(5)
    seeds = list(envs._seeds)
    envs.reset()
    singles = DummyVecEnv([lambda: solvent.LabEnv(PARAMS)] * 4)
    for i, env in enumerate(singles.envs):
        singles._seeds[i] = seeds[i]
        assert isinstance(env, gymnasium.Env)
    singles.reset()
    rng = np.random.default_rng(0)
    told = 0.0
    for _ in range(30):  # the shortest episode is longer: after it a single lab has luck of its own
        actions = rng.integers(0, 154, 4)
        envs.step(actions)
        infos = singles.step(actions)[3]
        np.testing.assert_array_equal(step_costs(envs, []), step_costs(singles, infos))
        told += envs.step_costs.sum()
        if singles.buf_dones.any():
            break
    assert told > 0.0


@pytest.mark.slow
def test_in_the_lab_episodes_cost_less_than_ppos(tmp_path):
    """A small budget: a few rollouts at a high price of new debt."""
    common = {
        "n_timesteps": 60_000,
        "n_envs": 64,
        "n_steps": 40,
        "batch_size": 640,
        "n_epochs": 3,
        "gamma": 1.0,
        "learning_rate": 2e-3,
        "policy_kwargs": {"width": 16, "value_width": 16},
    }
    costs = {}
    for algorithm, own in (("PPO", {}), ("PPOLagrangian", {"cost_limit": 0.5, "initial_lambda": 2.0})):
        recipe = Recipe.from_mapping(algorithm, {**common, **own})
        path = train(recipe, PARAMS, seed=1, folder=tmp_path / algorithm, tensorboard=False)
        assert path is not None
        played = episodes(LearnedAgent.load(path, PARAMS, deterministic=False), PARAMS, range(128))
        costs[algorithm] = played["debt_added"].mean()
    assert costs["PPOLagrangian"] < 0.7 * costs["PPO"]
