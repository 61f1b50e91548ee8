"""Training through the native adapter: what it hands to the learner, and that stopping and resuming changes nothing."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported

import solvent
from solvent.lab.actions import action_table
from solvent.lab.codes import Event
from solvent.lab.observation import observation_fields, observation_space
from solvent.lab.params import BudgetParams
from solvent.lab.verbs import Verb
from solvent_agents.learning.learned import LearnedAgent, train
from solvent_agents.learning.networks import build_network
from solvent_agents.learning.policies import CompoundNetwork, compound_columns
from solvent_agents.learning.recipe import ALGORITHMS, Recipe
from solvent_agents.learning.sb3 import LabVecEnv

PARAMS = solvent.preset("default")
ENERGY = solvent.preset("energy")
BRIEF = dataclasses.replace(ENERGY, budget=BudgetParams(heartbeats=12))
SMALL = {
    "n_envs": 8,
    "n_steps": 16,
    "batch_size": 64,
    "n_epochs": 2,
    "gamma": 1.0,
    "policy_kwargs": {"width": 8, "value_width": 8},
}

ONLY_PPO = ("batch_size", "n_epochs")


def test_the_adapter_hands_on_what_the_single_labs_give():
    envs = LabVecEnv(PARAMS, 3)
    envs.seed(5)
    seeds = list(envs._seeds)
    observations = envs.reset()
    singles = [solvent.LabEnv(PARAMS) for _ in seeds]
    rng = np.random.default_rng(0)
    np.testing.assert_array_equal(
        observations, [env.reset(seed=seed)[0] for env, seed in zip(singles, seeds, strict=True)]
    )
    ended = 0
    for _ in range(90):
        actions = rng.integers(0, 154, 3)
        observations, rewards, dones, infos = envs.step(actions)
        for i, env in enumerate(singles):
            observation, reward, terminated, truncated, info = env.step(actions[i])
            assert rewards[i] == np.float32(reward)
            assert dones[i] == (terminated or truncated)
            if dones[i]:
                ended += 1
                np.testing.assert_array_equal(infos[i]["terminal_observation"], observation)
                assert infos[i]["episode"]["r"] == info["episode_summary"]["return"]
                assert infos[i]["episode"]["l"] == info["episode_summary"]["length"]
                assert infos[i]["TimeLimit.truncated"] is False
                observation, _ = env.reset()
            else:
                assert infos[i] == {}
            np.testing.assert_array_equal(observations[i], observation)
    assert ended
    finished = envs.take_finished()
    assert finished is not None
    assert len(finished["return"]) == ended
    assert envs.take_finished() is None


def test_bootstrapping_at_the_horizon_is_an_option():
    envs = LabVecEnv(PARAMS, 1, bootstrap_at_horizon=True)
    envs.reset()
    for _ in range(40):
        _, _, dones, infos = envs.step(np.array([0]))
    assert dones[0]
    assert infos[0]["TimeLimit.truncated"] is True


def test_the_price_of_idling_is_taken_from_every_action_that_does_not_execute_and_from_no_other():
    free, priced = LabVecEnv(ENERGY, 32), LabVecEnv(ENERGY, 32, idle_price=0.25)
    rng = np.random.default_rng(2)
    for envs in (free, priced):
        envs.seed(4)
        envs.reset()
    idle = executed = 0
    for _ in range(60):
        actions = rng.integers(0, free.action_space.n, 32)
        rewards = [envs.step(actions)[1] for envs in (free, priced)]
        ran = np.isin(
            free.labs.batch.steps["event"], [Event.REFUSED, Event.NOT_EXECUTED, Event.DEFERRED], invert=True
        )
        np.testing.assert_allclose(rewards[0] - rewards[1], np.where(ran, 0.0, 0.25), atol=1e-6)
        executed, idle = executed + ran.sum(), idle + (~ran).sum()
    assert min(idle, executed) > 100


def test_masks_reach_the_masked_learner():
    envs = LabVecEnv(PARAMS, 2)
    envs.reset()
    assert is_masking_supported(envs)
    masks = get_action_masks(envs)
    assert masks.shape == (2, 154)
    np.testing.assert_array_equal(masks, envs.labs.action_masks())


@pytest.mark.parametrize("level", ["default", "lab", "tiny"])
def test_relabelling_the_compounds_relabels_the_logits(level):
    params = solvent.preset(level)
    torch.manual_seed(0)
    network = CompoundNetwork(params, 16, 16)
    shared, own = compound_columns(params)
    rng = np.random.default_rng(1)
    observation = rng.random((1, len(shared) + sum(map(len, own))), dtype=np.float32)
    order = rng.permutation(len(own))
    relabelled = observation.copy()
    for m, columns in enumerate(own):
        relabelled[:, own[order[m]]] = observation[:, columns]
    with torch.no_grad():
        before, after = (network(torch.as_tensor(o)) for o in (observation, relabelled))
    table = action_table(params)
    for action, row in enumerate(table):
        twin = row.copy()
        if row["compound"] >= 0:
            twin["compound"] = order[row["compound"]]
        same = [
            i for i, other in enumerate(table) if all(_equal(other[k], twin[k]) for k in table.dtype.names)
        ]
        assert len(same) == 1
        assert before[0][0, action].item() == pytest.approx(after[0][0, same[0]].item(), abs=1e-5)
    assert torch.allclose(before[1], after[1], atol=1e-5)


def test_the_shared_policy_draws_actions_with_their_probabilities():
    policy = build_network("PPO", "SharedPolicy", {"width": 8, "value_width": 8}, solvent.preset("tiny"))
    torch.manual_seed(0)
    torch.nn.init.normal_(policy.mlp_extractor.each.weight)
    observation = torch.rand(1, *policy.observation_space.shape)
    drawn = policy(observation.expand(20_000, -1))[0]
    expected = policy.get_distribution(observation).distribution.probs[0].detach()
    counted = torch.bincount(drawn, minlength=len(expected)) / len(drawn)
    assert torch.allclose(counted, expected, atol=0.01)


@pytest.mark.parametrize("level", ["default", "lab"])
def test_at_the_start_every_verb_is_as_probable_as_any_other_and_no_policy_has_more_entropy(level):
    params = solvent.preset(level)
    policy = build_network("PPO", "SharedPolicy", {"width": 8, "value_width": 8}, params)
    observation = torch.rand(3, *policy.observation_space.shape)
    prior, entropy = _distribution(policy, observation)
    verbs = action_table(params)["verb"]
    of_verbs = torch.stack([prior[:, verbs == verb].sum(dim=1) for verb in np.unique(verbs)])
    assert torch.allclose(of_verbs, torch.tensor(1 / len(of_verbs)), atol=0.02)
    assert torch.allclose(entropy, torch.zeros(3), atol=1e-3)
    for head in (policy.mlp_extractor.without, policy.mlp_extractor.each):
        torch.nn.init.normal_(head.weight)
        torch.nn.init.zeros_(head.bias)
    probs, entropy = _distribution(policy, observation)
    assert (entropy < -0.1).all()
    assert torch.allclose(entropy, -(probs * (probs / prior).log()).sum(dim=1), atol=0.02)


def _distribution(policy, observation):
    distribution = policy.get_distribution(observation)
    return distribution.distribution.probs.detach(), distribution.entropy().detach()


@pytest.mark.parametrize("algorithm", ["PPO", "MaskablePPO"])
def test_the_most_probable_verb_is_decided_before_the_compound_and_this_before_the_claim(algorithm):
    params = solvent.preset("default")
    policy = build_network(algorithm, "SharedPolicy", {"width": 8, "value_width": 8}, params)
    actions = action_table(params)
    screens, rest = actions["verb"] == Verb.SCREEN, actions["verb"] == Verb.REST
    probs = np.full(len(actions), 1e-6)
    probs[rest] = 0.3
    probs[screens] = 0.01
    probs[screens & (actions["compound"] == 2)] = 0.012
    probs[screens & (actions["compound"] == 5) & (actions["claim"] == 1.0)] = 0.018
    probs[screens & (actions["compound"] == 2) & (actions["claim"] == 0.5)] = 0.013
    distribution = policy.action_dist.proba_distribution(torch.from_numpy(np.log(probs)).float()[None])
    chosen = actions[distribution.mode().item()]
    assert (chosen["verb"], chosen["compound"], chosen["claim"]) == (Verb.SCREEN, 2, 0.5)


def _equal(a, b):
    return a == b or (np.isnan(a) and np.isnan(b))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("algorithm", "params"),
    [
        ("PPO", PARAMS),
        ("MaskablePPO", PARAMS),
        ("PPOLagrangian", PARAMS),
        ("PPO", BRIEF),
        ("MaskablePPO", BRIEF),
    ],
    ids=["PPO", "MaskablePPO", "PPOLagrangian", "PPO, energy", "MaskablePPO, energy"],
)
def test_a_training_that_was_stopped_and_resumed_is_the_same_training(
    tmp_path, monkeypatch, algorithm, params
):
    monkeypatch.setattr("solvent_agents.learning.learned.CHECKPOINT_EVERY", 3)
    recipe = Recipe.from_mapping(algorithm, {"n_timesteps": 8 * 16 * 8, **SMALL})

    whole, parts = [], []
    path = train(
        recipe, params, seed=3, folder=tmp_path / "whole", on_episodes=lambda n, c: whole.append((n, c))
    )
    calls = iter(range(1000))
    stopped = train(
        recipe,
        params,
        seed=3,
        folder=tmp_path / "parts",
        on_episodes=lambda n, c: parts.append((n, c)),
        should_stop=lambda: next(calls) > 16 * 5,
    )
    assert stopped is None
    assert not (tmp_path / "parts" / "policy.safetensors").exists()
    resumed_at = []
    again = train(
        recipe,
        params,
        seed=3,
        folder=tmp_path / "parts",
        on_episodes=lambda n, c: parts.append((n, c)),
        on_progress=lambda done, _total: resumed_at.append(done),
    )
    assert 0 < resumed_at[0] < recipe.n_timesteps
    assert again is not None
    assert path is not None

    kept = [(n, c) for n, c in parts[:-1] if n <= resumed_at[0]]
    rng = np.random.default_rng(0)
    observations = rng.random((50, *observation_space(params).shape), dtype=np.float32)
    masks = np.ones((50, len(action_table(params))), np.int8)
    agents = [LearnedAgent.load(p, params) for p in (path, again)]
    for ours, theirs in zip(*(a.policy.state_dict().values() for a in agents), strict=True):
        assert torch.equal(ours, theirs)
    np.testing.assert_array_equal(agents[0].act(observations, masks), agents[1].act(observations, masks))
    assert kept
    assert not (tmp_path / "parts" / "checkpoint.bin").exists()


@pytest.mark.slow
def test_an_off_policy_algorithm_trains_too(tmp_path):
    recipe = Recipe.from_mapping(
        "DQN",
        {"n_timesteps": 400, "n_envs": 4, "policy": "MlpPolicy", "learning_starts": 100, "buffer_size": 1000},
    )
    path = train(recipe, PARAMS, seed=0, folder=tmp_path)
    assert path is not None
    action = LearnedAgent.load(path, PARAMS).act(
        np.zeros((2, len(observation_fields(PARAMS))), np.float32), np.ones((2, 154))
    )
    assert action.shape == (2,)


@pytest.mark.parametrize("algorithm", ["PPO", "A2C", "MaskablePPO", "PPOLagrangian"])
def test_an_entropy_bonus_falls_to_nothing(algorithm, tmp_path, monkeypatch):
    """Four rollouts: the whole of it, then three quarters of it, a half, a quarter."""
    seen = []
    cls = ALGORITHMS[algorithm]
    train_ = cls.train
    monkeypatch.setattr(cls, "train", lambda self: (seen.append(self.ent_coef), train_(self)))
    small = {key: value for key, value in SMALL.items() if algorithm != "A2C" or key not in ONLY_PPO}
    recipe = Recipe.from_mapping(algorithm, {"n_timesteps": 4 * 8 * 16, **small, "ent_coef": "lin_0.4"})
    train(recipe, PARAMS, seed=0, folder=tmp_path, tensorboard=False)
    assert seen == pytest.approx([0.4, 0.3, 0.2, 0.1])
