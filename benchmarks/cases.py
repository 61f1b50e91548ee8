"""The timed cases: labs, single and in vectors, beside Gymnasium's cart-pole as a reference for the machine's speed.

Labs choose at random among executable actions, so they run plates, publish and end episodes. An agent that only rests
or is always refused would look faster.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from numba import njit

import solvent  # noqa: F401  registers the environments
from benchmarks.measure import Case

WIDE = 1024
CART_POLE = "CartPole-v1"
LEVELS = ("Solvent/Debt-v0", "Solvent/Energy-v0", "Solvent/Gate-v0", "Solvent/Lab-v0")
RATIOS = (
    (f"{LEVELS[0]}, vector of {WIDE:,}", f"{CART_POLE}, vector of {WIDE:,}", 0.25),
    (f"{LEVELS[3]}, vector of {WIDE:,}", f"{CART_POLE}, vector of {WIDE:,}", 0.12),
    (f"{LEVELS[0]}, single", f"{CART_POLE}, single", 0.8),
    (f"{LEVELS[3]}, single", f"{CART_POLE}, single", 0.6),
)
"""Pairs of cases and the ratio of their rates to aim at: rates differ between machines, ratios much less."""


@njit(cache=True)
def sample(masks, uniforms, actions):  # type: ignore[no-untyped-def]
    """Choose one executable action uniformly for each row of ``masks``."""
    for i in range(masks.shape[0]):
        left = int(uniforms[i] * np.count_nonzero(masks[i]))
        for action in range(masks.shape[1]):
            if masks[i, action] != 0:
                if left == 0:
                    actions[i] = action
                    break
                left -= 1


def cases() -> list[Case]:
    """Return all cases, in display order."""
    sizes = [vector(LEVELS[0], n) for n in (1, 64, WIDE, 4096)]
    return [
        *sizes,
        *(vector(level, WIDE) for level in LEVELS[1:]),
        *(single(env_id) for env_id in (*LEVELS, CART_POLE)),
        vector(CART_POLE, WIDE),
    ]


def chooser(env: Any, n: int) -> tuple[Any, Any]:
    """Return the actions of ``n`` labs, an array of shape ``(n,)``, and a function that draws them anew."""
    actions, uniforms, rng = np.zeros(n, np.int64), np.zeros(n), np.random.default_rng(0)
    batch = getattr(env.unwrapped, "batch", None)

    def choose() -> None:
        rng.random(out=uniforms)
        if batch is None:
            actions[:] = uniforms * 2  # the two actions of a cart-pole
        else:
            sample(batch.masks, uniforms, actions)

    return actions, choose


def vector(env_id: str, n: int) -> Case:
    env: Any = gymnasium.make_vec(env_id, num_envs=n, vectorization_mode="vector_entry_point")
    env.reset(seed=0)
    actions, choose = chooser(env, n)
    return Case(f"{env_id}, vector of {n:,}", n, lambda: env.step(actions), choose, env.close)


def single(env_id: str) -> Case:
    env: Any = gymnasium.make(env_id)
    env.reset(seed=0)
    actions, choose = chooser(env, 1)

    def step() -> None:
        _, _, terminated, truncated, _ = env.step(actions[0])
        if terminated or truncated:
            env.reset()

    return Case(f"{env_id}, single", 1, step, choose, env.close)
