"""A recipe that cannot be used is refused with its key and what is allowed, before anything is trained."""

import pytest

from solvent import ParamError
from solvent_agents.learning.recipe import Recipe

REFUSED = [
    ("PPO", {"leraning_rate": 1e-3}, "did you mean 'learning_rate'"),
    ("PPO", {"n_timesteps": 0}, "at least 1"),
    ("PPO", {"n_envs": 2.5}, "whole number"),
    ("PPO", {"policy": "Mlp"}, "SharedPolicy, MlpPolicy"),
    ("PPO", {"learning_rate": "fast"}, "lin_<number>"),
    ("PPO", {"shaping_weight": -1}, "0 to 100"),
    # Only rates can fall.
    ("PPO", {"gamma": "lin_0.5"}, "gamma: got 'lin_0.5'; allowed: a number"),
    ("PPO", {"vf_coef": "lin_0.5"}, "vf_coef: got 'lin_0.5'; allowed: a number"),
    ("PPO", {"batch_size": "lin_0.5"}, "batch_size: got 'lin_0.5'; allowed: a whole number"),
    # Networks.
    ("PPO", {"policy_kwargs": {"widht": 3}}, "policy_kwargs.widht: unknown key; did you mean 'width'"),
    (
        "PPO",
        {"policy_kwargs": {"width": 0}},
        "policy_kwargs.width: got 0; allowed: a whole number, 1 to 2048",
    ),
    ("DQN", {"policy": "SharedPolicy"}, "DQN takes MlpPolicy; SharedPolicy is for on-policy algorithms"),
    ("DQN", {"policy_kwargs": {"net_arch": {"pi": [8], "vf": [8]}}}, "net_arch: got"),
    (
        "A2C",
        {"policy": "MlpPolicy", "policy_kwargs": {"activation_fn": "sin"}},
        "allowed: elu, relu, tanh",
    ),
    # The limit on cost.
    ("PPO", {"cost_limit": 1}, "cost_limit: unknown key"),
    ("PPOLagrangian", {"cost_limit": -1}, "cost_limit: got -1; allowed: bits of new debt"),
    ("PPOLagrangian", {"cost_limit": "lin_1"}, "cost_limit"),
    ("PPOLagrangian", {"lambda_lr": True}, "lambda_lr: got True; allowed: 0 to 100"),
    ("PPOLagrangian", {"initial_lambda": None}, "initial_lambda"),
    ("PPOLagrangian", {"cost_limits": 1}, "did you mean 'cost_limit'"),
]


@pytest.mark.parametrize(("algorithm", "mapping", "words"), REFUSED, ids=range(len(REFUSED)))
def test_a_recipe_that_cannot_be_used_says_what_is_allowed(algorithm, mapping, words):
    with pytest.raises(ParamError, match=words):
        Recipe.from_mapping(algorithm, {"n_timesteps": 10, **mapping}, path="recipe.yml")


def test_the_number_of_steps_has_no_default():
    with pytest.raises(ParamError, match="n_timesteps: missing"):
        Recipe.from_mapping("PPO", {})


def test_dqn_has_the_one_network_that_it_can_have():
    assert Recipe.from_mapping("DQN", {"n_timesteps": 10}).policy == "MlpPolicy"
