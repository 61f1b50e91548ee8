"""Plain tools of the field run unchanged on every level."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from gymnasium.wrappers import RecordEpisodeStatistics
from gymnasium.wrappers.vector import RecordEpisodeStatistics as RecordVectorStatistics
from stable_baselines3 import PPO
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv

from solvent import ENVIRONMENTS

SHORT = {"budget": {"heartbeats": 3}}


def play(env: gymnasium.Env) -> dict:
    """An episode of rests; the last info."""
    env.reset(seed=1)
    while True:
        *_, terminated, truncated, info = env.step(0)
        if terminated or truncated:
            return info


@pytest.mark.parametrize("env_id", ENVIRONMENTS)
def test_gymnasium_records_an_episode(env_id: str) -> None:
    info = play(RecordEpisodeStatistics(gymnasium.make(env_id, params=SHORT)))
    assert info["episode"]["l"] == info["episode_summary"]["length"] == 3
    assert info["episode"]["r"] == info["episode_summary"]["return"]


@pytest.mark.parametrize("mode", ["SAME_STEP", "NEXT_STEP"])
@pytest.mark.parametrize("env_id", ENVIRONMENTS)
def test_gymnasium_records_the_episodes_of_a_vector(env_id: str, mode: str) -> None:
    labs = RecordVectorStatistics(
        gymnasium.make_vec(
            env_id, 2, vectorization_mode="vector_entry_point", params=SHORT, autoreset_mode=mode
        )
    )
    labs.reset(seed=1)
    for _ in range(3):
        *_, infos = labs.step(np.zeros(2, np.int64))
    assert infos["episode"]["l"].tolist() == [3, 3]
    told = infos["final_info"] if mode == "SAME_STEP" else infos
    assert told["episode_summary"]["length"].tolist() == [3, 3]


@pytest.mark.parametrize("env_id", ENVIRONMENTS)
def test_stable_baselines_learns_without_any_adapter(env_id: str) -> None:
    envs = DummyVecEnv([lambda: Monitor(gymnasium.make(env_id, params=SHORT))])
    model = PPO("MlpPolicy", envs, n_steps=32, batch_size=32, n_epochs=1, seed=0, device="cpu").learn(32)
    assert {episode["l"] for episode in model.ep_info_buffer} <= set(range(1, 19))
    assert len(model.ep_info_buffer) >= 1
