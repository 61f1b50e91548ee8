"""PPO as its recipe trains it, and its adapter alone: the native vector of labs, and as many single labs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.measure import Case

__all__ = ["learners"]

LABS = 256
STEPS = 16
LEVELS = ("Debt", "Lab")
RECIPES = Path(__file__).resolve().parent.parent / "configs" / "hyperparameters" / "ppo.yml"


def learners() -> list[Case]:
    """Return cases of a rollout with its training, and of the adapter under random actions."""
    import gymnasium
    import torch
    from stable_baselines3.common.monitor import Monitor
    from stable_baselines3.common.vec_env import DummyVecEnv

    from solvent.lab.params import preset
    from solvent_agents.learning.sb3 import LabVecEnv

    torch.set_num_threads(1)
    single = [lambda: Monitor(gymnasium.make("Solvent/Debt-v0"))] * LABS
    return [
        *map(_recipe, LEVELS),
        _adapter(f"adapter alone, {LABS} labs, native", LabVecEnv(preset("default"), LABS)),
        _adapter(f"adapter alone, {LABS} labs, stacked", DummyVecEnv(single)),
    ]


def _recipe(level: str) -> Case:
    import yaml

    from solvent.lab.params import preset
    from solvent_agents.learning.recipe import ALGORITHMS, Recipe, algorithm_arguments, make_vec_env

    env_id = f"Solvent/{level}-v0"
    mapping = yaml.safe_load(RECIPES.read_text(encoding="utf-8"))[env_id]
    recipe = Recipe.from_mapping("PPO", mapping | {"ent_coef": 0.01})  # the schedule of a run's callback
    params = preset({"Debt": "default", "Lab": "lab"}[level])
    policy, arguments = algorithm_arguments(recipe, params)
    envs = make_vec_env(recipe, params, recipe.n_envs)
    envs.seed(0)
    model = ALGORITHMS["PPO"](policy, envs, seed=0, **arguments)
    steps = recipe.n_envs * arguments["n_steps"]
    return Case(
        f"PPO of the recipe, {level}",
        steps,
        lambda: model.learn(steps, reset_num_timesteps=False),
        close=envs.close,
    )


def _adapter(name: str, envs: Any) -> Case:
    import numpy as np

    rng = np.random.default_rng(0)
    envs.reset()

    def rollout() -> None:
        for _ in range(STEPS):
            envs.step(rng.integers(0, envs.action_space.n, LABS))

    return Case(name, LABS * STEPS, rollout, close=envs.close)
