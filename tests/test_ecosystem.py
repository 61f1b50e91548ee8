"""Plain tools of the field run unchanged on every level; the recipes of docs/ecosystem.md run as they stand."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import yaml
from gymnasium.wrappers import RecordEpisodeStatistics, RecordVideo
from gymnasium.wrappers.vector import RecordEpisodeStatistics as RecordVectorStatistics
from sb3_contrib import ARS, QRDQN, TRPO, MaskablePPO, RecurrentPPO
from stable_baselines3 import A2C, DQN, PPO
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.vec_env import VecVideoRecorder

from solvent import ENVIRONMENTS, preset
from solvent_agents.learning.sb3 import LabVecEnv

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "ecosystem.md").read_text(encoding="utf-8")
RECIPES = re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
BLOCKS = [
    pytest.param(title, block, id=f"{title} {number}")
    for title, text in RECIPES
    for number, block in enumerate(re.findall(r"```python\n(.*?)```", text, re.DOTALL))
]
NOT_IN_DEV = {"Ray RLlib": "tree", "Minari": "minari"}
"""Sections whose library the extra `dev` lacks, and a module that only it brings. They may warn."""
ZOO = yaml.safe_load((ROOT / "configs" / "rl_zoo3.yml").read_text(encoding="utf-8"))

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
    message = infos["final_info"] if mode == "SAME_STEP" else infos
    assert message["episode_summary"]["length"].tolist() == [3, 3]


@pytest.mark.parametrize(
    ("algorithm", "policy", "arguments"),
    [
        (A2C, "MlpPolicy", {"n_steps": 8}),
        (DQN, "MlpPolicy", {"learning_starts": 16, "buffer_size": 100}),
        (QRDQN, "MlpPolicy", {"learning_starts": 16, "buffer_size": 100}),
        (TRPO, "MlpPolicy", {"n_steps": 32, "batch_size": 32}),
        (MaskablePPO, "MlpPolicy", {"n_steps": 32, "batch_size": 32}),
        (RecurrentPPO, "MlpLstmPolicy", {"n_steps": 32, "batch_size": 32}),
        (ARS, "LinearPolicy", {"n_delta": 1}),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_each_algorithm_learns_and_is_evaluated(
    algorithm: type, policy: str, arguments: dict[str, Any]
) -> None:
    model = algorithm(policy, "solvent:Solvent/Debt-v0", seed=0, device="cpu", **arguments).learn(64)
    evaluated = make_vec_env("solvent:Solvent/Debt-v0", 2)
    mean, _ = evaluate_policy(model, evaluated, n_eval_episodes=2)
    assert -20.0 < mean < 24.0


# -- videos --------------------------------------------------------------------------------------


def frames(path: Path) -> int:
    return pytest.importorskip("imageio_ffmpeg").count_frames_and_secs(str(path))[0]


@pytest.mark.parametrize("env_id", ENVIRONMENTS)
def test_gymnasium_films_an_episode(env_id: str, tmp_path: Path) -> None:
    pytest.importorskip("moviepy", reason="the extra `video` is not installed")
    env = RecordVideo(gymnasium.make(env_id, params=SHORT, render_mode="rgb_array"), str(tmp_path / "videos"))
    play(env)
    env.close()
    (video,) = (tmp_path / "videos").iterdir()
    assert video.suffix == ".mp4"
    assert frames(video) == 4  # the start and three heartbeats


def test_stable_baselines3_films_the_native_vector(tmp_path: Path) -> None:
    pytest.importorskip("moviepy", reason="the extra `video` is not installed")
    labs = LabVecEnv(preset("tiny"), 2)
    film = VecVideoRecorder(labs, str(tmp_path), lambda step: step == 0, video_length=3)
    film.reset()
    for _ in range(3):
        film.step(np.zeros(2, np.int64))
    film.close()
    (video,) = tmp_path.iterdir()
    assert frames(video) == 4  # the start and three steps


# -- the page ------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(("title", "block"), BLOCKS)
def test_a_recipe_runs_as_it_stands(title: str, block: str, tmp_path: Path) -> None:
    module = "moviepy" if "RecordVideo" in block else NOT_IN_DEV.get(title, "gymnasium")
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"{title}: {module} is not installed")
    script = tmp_path / "recipe.py"
    script.write_text(block, encoding="utf-8")
    warnings = [] if title in NOT_IN_DEV else ["-W", "error"]
    result = subprocess.run(
        [sys.executable, *warnings, str(script)],
        cwd=tmp_path,
        env=os.environ | {"MINARI_DATASETS_PATH": str(tmp_path)},  # Minari overwrites no data set
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    for name in re.findall(r"# writes (\S+)", block):
        assert (tmp_path / name).is_file()


def test_each_section_has_a_row_in_the_table() -> None:
    rows = re.findall(r"^\| \[([^]]+)\]", PAGE, re.MULTILINE)
    assert rows == [title for title, _ in RECIPES]


@pytest.mark.parametrize("env_id", ZOO)
def test_rl_zoo3s_entry_builds_its_model(env_id: str) -> None:
    assert env_id in ENVIRONMENTS
    entry = dict(ZOO[env_id])
    policy, labs, _ = (entry.pop(key) for key in ("policy", "n_envs", "n_timesteps"))
    start = float(entry["learning_rate"].removeprefix("lin_"))
    entry["learning_rate"] = lambda left: left * start  # as rl-zoo3 reads it
    model = PPO(policy, make_vec_env(env_id, labs), seed=0, device="cpu", **entry)
    assert model.n_envs * model.n_steps % model.batch_size == 0
