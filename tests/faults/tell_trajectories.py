"""A process that plays and tells: ``python -m tests.faults.tell_trajectories EPISODES SIZE...``.

Prints a digest of everything that a lab told in each episode of its stream, as JSON: by environment, then by form (the
single lab, or a vector's size and reset mode), then by seed.
"""

from __future__ import annotations

import hashlib
import json
import sys
from typing import Any

import gymnasium
import numpy as np

from solvent import ENVIRONMENTS

FIRST = 77
"""Seed of the first lab."""
MODES = ("SAME_STEP", "NEXT_STEP")


def plain(value: Any) -> Any:
    """The same as text for a scalar of NumPy and one of Python, and whatever the order of keys."""
    if isinstance(value, dict):
        return {key: plain(value[key]) for key in sorted(value)}
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def of_lab(infos: dict[str, Any], i: int) -> dict[str, Any]:
    """The info of a vector's lab, as the single lab gives it."""
    return {
        key: of_lab(value, i) if isinstance(value, dict) else value[i]
        for key, value in infos.items()
        if not key.startswith("_") and infos[f"_{key}"][i]
    }


class Stream:
    """A lab's actions, which depend on its seed and its masks alone, and the digests of its episodes."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.episodes: list[str] = []

    def begin(self, observation: Any, info: dict[str, Any]) -> None:
        self.told = hashlib.sha256()
        self.tell(observation, info)

    def tell(self, observation: Any, *rest: Any) -> None:
        self.told.update(observation.tobytes() + repr([plain(part) for part in rest]).encode())

    def end(self) -> None:
        self.episodes.append(self.told.hexdigest()[:16])

    def act(self, mask: Any) -> int:
        able = np.flatnonzero(mask) if self.rng.random() < 0.8 else np.arange(len(mask))
        return int(self.rng.choice(able))


def single(env_id: str, seed: int, episodes: int) -> list[str]:
    env, stream, seeds = gymnasium.make(env_id, detailed_info=True), Stream(seed), iter([seed])
    while len(stream.episodes) < episodes:
        observation, info = env.reset(seed=next(seeds, None))
        stream.begin(observation, info)
        over = False
        while not over:
            action = stream.act(info["action_mask"])
            observation, reward, terminated, truncated, info = env.step(action)
            stream.tell(observation, action, reward, terminated, truncated, info)
            over = terminated or truncated
        stream.end()
    return stream.episodes


def vector(env_id: str, size: int, mode: str, episodes: int) -> list[list[str]]:
    asked: dict[str, Any] = {"vectorization_mode": "vector_entry_point", "autoreset_mode": mode}
    envs = gymnasium.make_vec(env_id, num_envs=size, **asked, detailed_info=True)
    streams = [Stream(FIRST + i) for i in range(size)]
    observations, infos = envs.reset(seed=FIRST)
    masks = infos["action_mask"]
    for i, stream in enumerate(streams):
        stream.begin(observations[i], of_lab(infos, i))
    resets = np.zeros(size, bool)
    while min(len(stream.episodes) for stream in streams) < episodes:
        actions = np.array([0 if resets[i] else stream.act(masks[i]) for i, stream in enumerate(streams)])
        observations, rewards, terminated, truncated, infos = envs.step(actions)
        over = terminated | truncated
        masks = infos.get("action_mask", masks)  # none where all have ended
        for i, stream in enumerate(streams):
            if resets[i]:
                stream.begin(observations[i], of_lab(infos, i))
                continue
            final = over[i] and mode == "SAME_STEP"
            observation = infos["final_obs"][i] if final else observations[i]
            info = of_lab(infos["final_info"] if final else infos, i)
            outcome = (actions[i], rewards[i], terminated[i], truncated[i], info)
            stream.tell(observation, *map(plain, outcome))
            if over[i]:
                stream.end()
            if final:
                stream.begin(
                    observations[i], of_lab({key: infos[key] for key in ("action_mask", "_action_mask")}, i)
                )
        resets = over & (mode == "NEXT_STEP")
    return [stream.episodes[:episodes] for stream in streams]


def main() -> None:
    episodes, *sizes = map(int, sys.argv[1:])
    told: dict[str, Any] = {}
    for env_id in ENVIRONMENTS:
        told[env_id] = {"single": [single(env_id, FIRST + i, episodes) for i in range(max(sizes))]}
        for size in sizes:
            for mode in MODES:
                told[env_id][f"{size} {mode}"] = vector(env_id, size, mode, episodes)
    print(json.dumps(told))


if __name__ == "__main__":
    main()
