"""Damaged and forged checkpoints: set aside with a line, or the training goes on with labs that step."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load, save

import solvent
from solvent_agents.learning.checkpoint import BEFORE, CHECKPOINT, HEAD, MAGIC, resumed
from solvent_agents.learning.learned import train
from solvent_agents.learning.recipe import ALGORITHMS, Recipe, algorithm_arguments, make_vec_env
from tests.faults.corrupt_records import belief, edge, extreme, mixed, noise, swapped
from tests.faults.tally import Tally, rounds

PARAMS = solvent.preset("default")
LABS, STEPS = 4, 16
RECIPE = Recipe.from_mapping(
    "PPOLagrangian",
    {
        "n_timesteps": 8 * LABS * STEPS,
        "n_envs": LABS,
        "n_steps": STEPS,
        "batch_size": 32,
        "n_epochs": 1,
        "policy_kwargs": {"width": 8, "value_width": 8},
    },
)


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a training with the checkpoints after four rollouts and after two."""
    folder = tmp_path_factory.mktemp("stopped")
    calls = iter(range(1000))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("solvent_agents.learning.learned.CHECKPOINT_EVERY", 2)
        stop = lambda: next(calls) > STEPS * 5  # noqa: E731
        assert train(RECIPE, PARAMS, seed=3, folder=folder, tensorboard=False, should_stop=stop) is None
    assert (folder / BEFORE).exists()
    return folder


# -- what is done to a checkpoint ------------------------------------------------------------------


def flipped(path: Path, rng: Any) -> None:
    content = bytearray(path.read_bytes())
    for bit in rng.integers(0, 8 * len(content), rng.integers(1, 4)):
        content[bit // 8] ^= 1 << (bit % 8)
    path.write_bytes(content)


def cut(path: Path, rng: Any) -> None:
    content = path.read_bytes()
    at = int(rng.choice([0, 1, HEAD - 1, HEAD, HEAD + 8, rng.integers(len(content))]))
    path.write_bytes(content[:at] if rng.random() < 0.7 else content + content[:at] + b"\0")


def replaced(path: Path, rng: Any) -> None:
    path.unlink()
    kinds: list[Callable[[], object]] = [path.mkdir, path.touch]
    if (zero := Path("/dev/zero")).exists():
        kinds.append(lambda: path.symlink_to(zero))
    kinds[rng.integers(len(kinds))]()


def sealed(path: Path, payload: bytes) -> None:
    path.write_bytes(MAGIC + hashlib.sha256(payload).digest() + payload)


def forged_bytes(path: Path, rng: Any) -> None:
    """Flipped bits under a hash that fits."""
    flipped(path, rng)
    sealed(path, path.read_bytes()[HEAD:])


def forged_labs(path: Path, rng: Any) -> None:
    saved = load(path.read_bytes()[HEAD:])
    labs = np.frombuffer(
        saved["labs"].numpy().tobytes(), make_vec_env(RECIPE, PARAMS, 1).labs.batch.labs.dtype
    )
    labs = labs.copy()
    attack = (belief, edge, extreme, mixed, noise, swapped)[rng.integers(6)]
    labs[1] = attack(labs[1].copy(), rng, labs[2], PARAMS)
    saved["labs"] = torch.frombuffer(bytearray(labs.tobytes()), dtype=torch.uint8)
    sealed(path, save(saved))


def forged_tensors(path: Path, rng: Any) -> None:
    saved = load(path.read_bytes()[HEAD:])
    name = str(rng.choice(sorted(saved)))
    value = saved[name]
    odd = value.clone()
    if odd.numel() and odd.is_floating_point():
        odd.view(-1)[0] = float(rng.choice([np.nan, np.inf]))
    forms = (
        value[:-1] if value.ndim else value[None],
        value.double(),
        value[None],
        odd,
        torch.zeros(0),
        None,
    )
    form = forms[rng.integers(len(forms))]
    saved.pop(name)
    if form is not None:
        saved[name] = form.contiguous()
    sealed(path, save(saved))


def forged_numbers(path: Path, rng: Any) -> None:
    saved = load(path.read_bytes()[HEAD:])
    numbers = json.loads(saved["numbers"].numpy().tobytes())
    odd = [None, "x", -1, 2**40, 10**30, 1.5, float("nan"), float("inf"), [], {}, [[[]]], True]
    value = odd[rng.integers(len(odd))]
    group = str(rng.choice(["model", "numpy", "python"]))
    if group == "model" and rng.random() < 0.8:
        numbers[group][str(rng.choice(sorted(numbers[group])))] = value
    elif group == "numpy" and rng.random() < 0.8:
        numbers[group][rng.integers(3)] = value
    elif rng.random() < 0.5:
        numbers["python"][1][rng.integers(625)] = value
    else:
        numbers[group] = value
    text = json.dumps(numbers).encode() if rng.random() < 0.9 else b"[" * 200_000
    saved["numbers"] = torch.frombuffer(bytearray(text), dtype=torch.uint8)
    sealed(path, save(saved))


ATTACKS = (flipped, cut, replaced, forged_bytes, forged_labs, forged_tensors, forged_numbers)
DAMAGES = (flipped, cut, replaced)


# -- what must hold --------------------------------------------------------------------------------


def problem_of(folder: Path, attack: Callable[[Path, Any], None], rng: Any) -> str:
    """Return what goes wrong after an attack on the last checkpoint; empty if nothing does."""
    envs = make_vec_env(RECIPE, PARAMS, RECIPE.n_envs)
    policy, arguments = algorithm_arguments(RECIPE, PARAMS)
    told: list[str] = []
    attack(folder / CHECKPOINT, rng)
    model = resumed(
        lambda: ALGORITHMS[RECIPE.algorithm](policy, envs, seed=3, **arguments), folder, envs, told.append
    )
    if model is None or len(told) > 1:
        return f"the checkpoint before was not taken: {told}"
    if attack in DAMAGES and (not told or model.num_timesteps != 2 * LABS * STEPS):
        return f"a damaged checkpoint was taken, {model.num_timesteps} steps"
    for line in told:
        whole = line.startswith(str(folder / CHECKPOINT)) and "set aside as checkpoint.damaged" in line
        if not whole or "\n" in line or len(line) > len(str(folder)) + 500:
            return f"set aside with {line:.600}"
    for _ in range(STEPS):
        observations, rewards, *_ = envs.step(rng.integers(0, envs.action_space.n, LABS))
        if not (
            np.isfinite(observations).all() and (abs(observations) <= 1).all() and np.isfinite(rewards).all()
        ):
            return "the labs do not step"
    if attack is not forged_bytes:  # finite weights may still overflow
        done = model.num_timesteps
        model.learn(LABS * STEPS, reset_num_timesteps=False)
        if model.num_timesteps != done + LABS * STEPS:
            return f"the training does not go on: {model.num_timesteps} steps"
    return ""


def test_a_damaged_or_forged_checkpoint_is_set_aside_or_taken_whole(
    stopped: Path, tally: Tally, tmp_path: Path
) -> None:
    failures, tried = [], rounds(42, 1050)
    for i in range(tried):
        attack = ATTACKS[i % len(ATTACKS)]
        folder = Path(shutil.copytree(stopped, tmp_path / str(i)))
        try:
            problem = problem_of(folder, attack, np.random.default_rng([9, i]))
        except Exception as error:
            problem = f"{type(error).__name__}: {error!s:.300}"
        if problem:
            failures.append((i, attack.__name__, problem))
        shutil.rmtree(folder)
    tally("checkpoints", tried, tried - len(failures))
    assert failures[:5] == []
