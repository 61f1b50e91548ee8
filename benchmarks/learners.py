"""Stable-Baselines3's PPO over the native vector of labs and over as many single labs."""

from __future__ import annotations

from typing import Any

from benchmarks.measure import Case

__all__ = ["learners"]

LABS = 256
STEPS = 16  # a rollout; one batch of 4,096
EPOCHS = 4
ENV_ID = "Solvent/Debt-v0"


def learners() -> list[Case]:
    """Return cases of a rollout with its training and of the adapter alone, all with the same sizes."""
    import gymnasium
    import torch
    from stable_baselines3.common.monitor import Monitor
    from stable_baselines3.common.vec_env import DummyVecEnv

    from solvent.lab.params import preset
    from solvent_agents.learning.sb3 import LabVecEnv

    torch.set_num_threads(1)
    stacked = DummyVecEnv([lambda: Monitor(gymnasium.make(ENV_ID)) for _ in range(LABS)])
    return [
        _learner(f"PPO over {LABS} labs, native", LabVecEnv(preset("default"), LABS)),
        _learner(f"PPO over {LABS} labs, stacked", stacked),
        _sampler(f"adapter alone, {LABS} labs, native", LabVecEnv(preset("default"), LABS)),
        _sampler(
            f"adapter alone, {LABS} labs, stacked",
            DummyVecEnv([lambda: Monitor(gymnasium.make(ENV_ID)) for _ in range(LABS)]),
        ),
    ]


def _learner(name: str, envs: Any) -> Case:
    from stable_baselines3 import PPO

    model = PPO("MlpPolicy", envs, n_steps=STEPS, batch_size=LABS * STEPS, n_epochs=EPOCHS, seed=0)
    steps = LABS * STEPS
    return Case(name, steps, lambda: model.learn(steps, reset_num_timesteps=False), close=envs.close)


def _sampler(name: str, envs: Any) -> Case:
    import numpy as np

    rng = np.random.default_rng(0)
    envs.reset()

    def rollout() -> None:
        for _ in range(STEPS):
            envs.step(rng.integers(0, envs.action_space.n, LABS))

    return Case(name, LABS * STEPS, rollout, close=envs.close)
