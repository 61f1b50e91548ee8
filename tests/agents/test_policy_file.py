"""Policy files: what they are loaded as is what was trained, and nothing in them can run or surprise."""

from __future__ import annotations

import dataclasses
import hashlib
import importlib.metadata
import json
import pickle
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load, save

import solvent
from solvent_agents.learning import networks
from solvent_agents.learning.learned import LearnedAgent, train
from solvent_agents.learning.policy_file import ABOUT, WEIGHTS, PolicyFileError, load_policy, save_policy
from solvent_agents.learning.recipe import ALGORITHMS, Recipe, algorithm_arguments, make_vec_env
from solvent_agents.learning.sb3 import LabVecEnv
from tests.agents.trap import Trap

PARAMS = solvent.preset("default")
ROLLOUT = {"n_envs": 8, "n_steps": 8, "gamma": 1.0}
SHARED = {"policy_kwargs": {"width": 8, "value_width": 8}}
PLAIN = {"policy": "MlpPolicy", "policy_kwargs": {"net_arch": [16], "activation_fn": "relu"}}
VALUES = {
    "n_envs": 4,
    "learning_starts": 50,
    "buffer_size": 500,
    "policy_kwargs": {"net_arch": [16]},
    "batch_size": 32,
}
TRAINED: dict[str, tuple[str, dict[str, Any]]] = {
    "A2C": ("A2C", {**ROLLOUT, **SHARED}),
    "PPO": ("PPO", {**ROLLOUT, **SHARED, "batch_size": 64}),
    "PPO, plain": ("PPO", {**ROLLOUT, **PLAIN, "batch_size": 64}),
    "MaskablePPO": ("MaskablePPO", {**ROLLOUT, **SHARED, "batch_size": 64}),
    "PPOLagrangian": ("PPOLagrangian", {**ROLLOUT, **SHARED, "batch_size": 64}),
    "TRPO": ("TRPO", {**ROLLOUT, **SHARED, "batch_size": 64}),
    "DQN": ("DQN", VALUES),
    "QRDQN": ("QRDQN", {**VALUES, "policy_kwargs": {"net_arch": [16], "n_quantiles": 5}}),
}


def trained(algorithm, mapping):
    """A model of Stable-Baselines3 after a few updates."""
    recipe = Recipe.from_mapping(algorithm, {"n_timesteps": 192, **mapping})
    policy, arguments = algorithm_arguments(recipe, PARAMS)
    model = ALGORITHMS[algorithm](policy, make_vec_env(recipe, PARAMS, recipe.n_envs), seed=1, **arguments)
    return model.learn(recipe.n_timesteps), recipe


@pytest.fixture(scope="module")
def shown():
    """Observations and masks of labs in the middle of their episodes."""
    envs = LabVecEnv(PARAMS, 32)
    envs.seed(3)
    observations = envs.reset()
    rng = np.random.default_rng(0)
    for _ in range(7):
        observations = envs.step(rng.integers(0, 154, 32))[0]
    return observations, envs.labs.action_masks()


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(TRAINED))
def test_it_acts_as_the_trained_model_does(name, tmp_path, shown):
    algorithm, mapping = TRAINED[name]
    model, recipe = trained(algorithm, mapping)
    path = save_policy(tmp_path, model.policy, recipe.to_mapping(), PARAMS)
    observations, masks = shown
    masked = {"action_masks": masks} if algorithm == "MaskablePPO" else {}
    wanted, _ = model.predict(observations, deterministic=True, **masked)
    agent = LearnedAgent.load(path, PARAMS)
    np.testing.assert_array_equal(agent.act(observations, masks), wanted)
    saved, ours = load(path.read_bytes()), model.policy.state_dict()
    assert set(saved) == {key for key in ours if "target" not in key}
    assert all(torch.equal(saved[key], ours[key]) for key in saved)
    if algorithm == "MaskablePPO":
        chosen = agent.act(observations, masks)
        assert masks[np.arange(len(chosen)), chosen].all()
    if hasattr(model.policy, "predict_values"):
        loaded: Any = agent.policy
        seen = torch.as_tensor(observations)
        with torch.no_grad():
            assert torch.equal(loaded.predict_values(seen), model.policy.predict_values(seen))


def test_every_algorithm_has_a_network():
    assert {algorithm for algorithm, _ in networks._TABLE} == set(ALGORITHMS)
    assert {algorithm for algorithm, _ in TRAINED.values()} == set(ALGORITHMS)


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """The folder of one policy that no test changes."""
    folder = tmp_path_factory.mktemp("policy")
    recipe = Recipe.from_mapping("PPO", {"n_timesteps": 64, **ROLLOUT, **SHARED, "batch_size": 64})
    train(recipe, PARAMS, seed=0, folder=folder, tensorboard=False)
    return folder


@pytest.fixture
def policy(good, tmp_path):
    """A copy of it, to be damaged."""
    return Path(shutil.copytree(good, tmp_path / "policy"))


def describe(folder, **changes):
    """Change the description, and its hash and length to those of the weights as they are now."""
    data = (folder / WEIGHTS).read_bytes()
    about = json.loads((folder / ABOUT).read_text())
    about["weights"] = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    (folder / ABOUT).write_text(json.dumps({**about, **changes}))


def refuse(folder, words, params=PARAMS):
    with pytest.raises(PolicyFileError, match=words) as caught:
        load_policy(folder / WEIGHTS, params)
    assert "\n" not in str(caught.value)
    assert str(folder) in str(caught.value)


def test_what_training_leaves(good):
    assert sorted(path.name for path in good.iterdir()) == [ABOUT, WEIGHTS]
    about = json.loads((good / ABOUT).read_text())
    assert about["algorithm"] == "PPO"
    assert about["recipe"]["n_timesteps"] == 64
    assert about["network"] == {"width": 8, "value_width": 8}
    assert solvent.LabParams.from_mapping(about["params"]) == PARAMS
    assert about["packages"]["torch"] == importlib.metadata.version("torch")


def test_it_is_found_by_any_of_its_names(good, shown):
    actions = [LearnedAgent.load(path, PARAMS).act(*shown) for path in (good, good / WEIGHTS, good / ABOUT)]
    assert all((a == actions[0]).all() for a in actions)


def test_loading_leaves_the_luck_of_others_alone(good):
    torch.manual_seed(1)
    before = torch.get_rng_state()
    load_policy(good, PARAMS)
    assert torch.equal(torch.get_rng_state(), before)


def test_missing_files(policy):
    (policy / ABOUT).unlink()
    refuse(policy, "policy.json: no such file")
    (policy / WEIGHTS).unlink()
    refuse(policy, "no such file; allowed: policy.safetensors with policy.json beside it")


def test_a_model_of_an_earlier_version_says_to_train_again(tmp_path):
    (tmp_path / "model.zip").write_bytes(b"")
    refuse(tmp_path, "model.zip: is of an earlier version and could run code .* by training again")
    with pytest.raises(PolicyFileError, match="training again"):
        load_policy(tmp_path / "model.zip", PARAMS)


def test_truncated_or_changed_weights(policy):
    data = (policy / WEIGHTS).read_bytes()
    (policy / WEIGHTS).write_bytes(data[:-100])
    refuse(policy, "cut off or replaced")
    (policy / WEIGHTS).write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    refuse(policy, "damaged or replaced")
    (policy / WEIGHTS).write_bytes(data[:-100])
    describe(policy)
    refuse(policy, "not in the format safetensors")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"format": "pickle"}, "not the description of a policy"),
        ({"version": 2}, "version: got 2; allowed: 1"),
        ({"version": True}, "version: got True"),
        ({"algorithm": "SAC"}, "algorithm: got 'SAC'; allowed: A2C"),
        ({"algorithm": ["PPO"]}, "algorithm: got .'PPO'.; allowed: a name"),
        ({"policy": "os.system"}, "policy: got 'os.system'; PPO takes SharedPolicy, MlpPolicy"),
        ({"policy": "MlpPolicy"}, "network.width: unknown key"),
        ({"algorithm": "DQN"}, "DQN takes MlpPolicy"),
        ({"network": [8]}, "network: got .8.; allowed: a mapping"),
        ({"network": {"width": 10**9}}, "network.width: got 1000000000; allowed: a whole number, 1 to 2048"),
        ({"network": {"width": 8, "features_extractor_class": "os.system"}}, "unknown key"),
        ({"network": {"width": 16, "value_width": 8}}, r"allowed: torch.float32 \(16"),
        ({"weights": "abc"}, "weights: got 'abc'"),
        ({"layout": None}, "layout: got None"),
        ({"layout": {"observations": 3, "actions": 154, "sha256": ""}}, "the policy sees 3 observations"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_odd_descriptions(policy, changes, words):
    describe(policy, **changes)
    refuse(policy, words)


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", '{"format": NaN}', "[" * 100_000, "\xff"],
    ids=["empty", "open", "list", "null", "nan", "deep", "latin"],
)
def test_descriptions_that_are_none(policy, text):
    (policy / ABOUT).write_bytes(text.encode("latin-1"))
    refuse(policy, "broken JSON|not the description of a policy")


def test_a_key_given_twice(policy):
    text = (policy / ABOUT).read_text()
    (policy / ABOUT).write_text(text.replace('"width": 8', '"width": 4, "width": 8', 1))
    refuse(policy, r"policy.json: broken JSON \(a key is given twice\)")


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="a system without such a device")
def test_no_file_is_read_that_never_ends(policy):
    for name in (ABOUT, WEIGHTS):
        (policy / name).unlink()
        (policy / name).symlink_to("/dev/zero")
        refuse(policy, rf"{name}: can't be read \(not a regular file\); allowed: a policy file")


def test_weights_that_overflow(policy):
    """Finite ones, whose logits are not."""
    weights = load((policy / WEIGHTS).read_bytes())
    huge = {name: torch.where(value < 0, -1e20, 1e20) for name, value in weights.items()}
    (policy / WEIGHTS).write_bytes(save(huge))
    describe(policy)
    refuse(
        policy, "weights so large that the probabilities of actions overflow; allowed: a trained network's"
    )


def test_a_refusal_is_short(policy):
    weights = load((policy / WEIGHTS).read_bytes())
    (policy / WEIGHTS).write_bytes(save({**weights, "a" * 100_000: torch.zeros(1)}))
    describe(policy)
    refuse(policy, r"safetensors: a{300}$")


def test_a_number_that_is_none(policy):
    weights = load((policy / WEIGHTS).read_bytes())
    name = min(weights)
    weights[name].flatten()[0] = float("nan")
    (policy / WEIGHTS).write_bytes(save(weights))
    describe(policy)
    refuse(policy, f"{name}: not every weight is a finite number")


def test_weights_of_another_shape_name_or_kind(policy):
    weights = load((policy / WEIGHTS).read_bytes())
    name = min(weights)
    odd = {
        "missing": {key: value for key, value in weights.items() if key != name},
        "unknown": {**weights, "more": torch.zeros(3)},
        "allowed: torch.float32": {**weights, name: weights[name].double()},
        "allowed: torch.float32 ": {**weights, name: weights[name][:-1].contiguous()},
    }
    for words, tensors in odd.items():
        (policy / WEIGHTS).write_bytes(save(tensors))
        describe(policy)
        refuse(policy, words)


def test_labs_of_another_shape_and_of_other_rules(good):
    for preset, words in (("energy", "sees 143 observations, these labs have 203"), ("gate", "sees 143")):
        refuse(good, words, solvent.preset(preset))
    other = dataclasses.replace(PARAMS.vocabulary, claims=(0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0))
    refuse(good, "mean something else", dataclasses.replace(PARAMS, vocabulary=other))
    milder = dataclasses.replace(PARAMS.debt, threshold=1.0)
    load_policy(good, dataclasses.replace(PARAMS, debt=milder))
    names = tuple(f"compound {m}" for m in range(8))
    load_policy(good, dataclasses.replace(PARAMS, assay=dataclasses.replace(PARAMS.assay, compounds=names)))


def test_a_pickle_in_its_place_is_not_run(policy, tmp_path):
    mark = tmp_path / "ran"
    trap = pickle.dumps(Trap(mark))
    for content in (trap, zipped(trap, tmp_path)):
        (policy / WEIGHTS).write_bytes(content)
        describe(policy)
        refuse(policy, "not in the format safetensors")
        (policy / ABOUT).write_bytes(content)
        refuse(policy, "broken JSON")
        shutil.copy(policy / WEIGHTS, policy / "model.zip")
        (policy / WEIGHTS).unlink()
        refuse(policy, "could run code")
        assert not mark.exists()
        describe_from_scratch(policy)
    pickle.loads(trap)
    assert mark.exists()  # so it would have


def zipped(content, folder):
    """The same as torch packs it."""
    path = folder / "trap.pt"
    torch.save({"state": Trap(folder / "ran")}, path)
    return path.read_bytes()


def describe_from_scratch(folder):
    recipe = Recipe.from_mapping("PPO", {"n_timesteps": 64, **SHARED})
    network = networks.build_network("PPO", "SharedPolicy", {"width": 8, "value_width": 8}, PARAMS)
    save_policy(folder, network, recipe.to_mapping(), PARAMS)
    (folder / "model.zip").unlink(missing_ok=True)
