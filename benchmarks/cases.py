"""The timed cases. A section is a function that returns its cases, listed in ``SECTIONS``.

Labs choose at random among executable actions, so they run plates, publish and end episodes. An agent that only rests
or is always refused would look faster.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
from numba import njit
from numpy.typing import NDArray

import solvent  # noqa: F401  registers the environments
from benchmarks.measure import Case
from solvent.lab.batch import LabBatch
from solvent.lab.params import LabParams, preset

__all__ = [
    "RATIOS",
    "SECTIONS",
    "batch_case",
    "bytes_per_lab",
    "core",
    "gymnasium_peers",
    "single_environments",
    "vector_environments",
]

WIDE = 1024
SIZES = (1, 64, WIDE, 4096)
ENV_ID = "Solvent/Debt-v0"
ENERGY_ID = "Solvent/Energy-v0"
GATE_ID = "Solvent/Gate-v0"
LAB_ID = "Solvent/Lab-v0"
TWO_THREADS = f"compiled step, {SIZES[-1]:,} labs, two threads"
RATIOS = (
    (f"{ENV_ID}, vector of {WIDE:,}", f"CartPole-v1, vector of {WIDE:,}", 0.25),
    (f"{LAB_ID}, vector of {WIDE:,}", f"CartPole-v1, vector of {WIDE:,}", 0.12),
    (f"{ENV_ID}, single", "CartPole-v1, single", 0.8),
    (f"{LAB_ID}, single", "CartPole-v1, single", 0.6),
    (TWO_THREADS, f"compiled step, {SIZES[-1]:,} labs", 1.7),
)
"""Pairs of cases and the ratio of their rates to aim at: rates differ between machines, ratios much less."""


@njit(cache=True)
def sample(masks, uniforms, actions):  # type: ignore[no-untyped-def]
    """Choose one executable action uniformly for each row of ``masks``."""
    for i in range(masks.shape[0]):
        executable = 0
        for action in range(masks.shape[1]):
            executable += masks[i, action] != 0
        left = int(uniforms[i] * executable)
        for action in range(masks.shape[1]):
            if masks[i, action] != 0:
                if left == 0:
                    actions[i] = action
                    break
                left -= 1


class Sampler:
    """Chooses random executable actions for ``n`` labs."""

    def __init__(self, n: int) -> None:
        self.actions = np.zeros(n, np.int64)
        self._rng = np.random.default_rng(0)
        self._uniforms = np.zeros(n)

    def __call__(self, masks: NDArray[Any]) -> NDArray[np.int64]:
        """Return one action per row of ``masks``, in a reused array."""
        self._rng.random(out=self._uniforms)
        sample(masks, self._uniforms, self.actions)
        return self.actions


def bytes_per_lab() -> dict[str, tuple[int, int]]:
    """Return the bytes of a lab's whole state and of the report of a step, by preset."""
    batches = {name: LabBatch(preset(name), 1) for name in ("default", "energy", "gate", "lab")}
    return {name: (it.labs.dtype.itemsize, it.steps.dtype.itemsize) for name, it in batches.items()}


def core() -> list[Case]:
    """Return cases of the compiled step alone: one call for all labs, with reset in the same step."""
    sizes = [
        batch_case(f"compiled step, {n:,} lab{'s' if n > 1 else ''}", n, preset("default")) for n in SIZES
    ]
    levels = [
        batch_case(f"compiled step, {WIDE:,} labs, {name}", WIDE, preset(name))
        for name in ("energy", "gate", "lab")
    ]
    return [*sizes, batch_case(TWO_THREADS, SIZES[-1], preset("default"), threads=2), *levels]


def batch_case(name: str, n: int, params: LabParams, threads: int = 1) -> Case:
    """Return a case of the compiled step of ``n`` labs."""
    batch, choose = LabBatch(params, n, same_step=True, threads=threads), Sampler(n)
    batch.begin(list(range(n)), np.ones(n, np.bool_), np.random.default_rng(0))
    return Case(
        name, n, lambda: batch.step(choose.actions), prepare=lambda: choose(batch.masks), close=batch.close
    )


def single_environments() -> list[Case]:
    """Return cases of single labs from ``gymnasium.make``."""
    return [single_case(ENV_ID), single_case(ENERGY_ID), single_case(GATE_ID), single_case(LAB_ID)]


def single_case(env_id: str) -> Case:
    env: Any = gymnasium.make(env_id)
    env.reset(seed=0)
    masks, choose = env.unwrapped.batch.masks, Sampler(1)

    def step() -> None:
        _, _, terminated, truncated, _ = env.step(choose.actions[0])
        if terminated or truncated:
            env.reset()

    return Case(f"{env_id}, single", 1, step, prepare=lambda: choose(masks), close=env.close)


def vector_environments() -> list[Case]:
    """Return cases of vectors from ``gymnasium.make_vec``, and a wide one that returns no copies."""
    return [
        *(vector_case(n, "", {}) for n in SIZES),
        vector_case(WIDE, ", copy=False", {"copy": False}),
        vector_case(WIDE, "", {}, ENERGY_ID),
        vector_case(WIDE, "", {}, GATE_ID),
        vector_case(WIDE, "", {}, LAB_ID),
    ]


def vector_case(n: int, note: str, kwargs: dict[str, Any], env_id: str = ENV_ID) -> Case:
    env: Any = gymnasium.make_vec(env_id, num_envs=n, vectorization_mode="vector_entry_point", **kwargs)
    env.reset(seed=0)
    masks, choose = env.unwrapped.batch.masks, Sampler(n)
    return Case(
        f"{env_id}, vector of {n:,}{note}",
        n,
        lambda: env.step(choose.actions),
        prepare=lambda: choose(masks),
        close=env.close,
    )


def gymnasium_peers() -> list[Case]:
    """Return cases of Gymnasium's cart-pole, single and hand-vectorised, as a reference for the machine's speed."""
    single: Any = gymnasium.make("CartPole-v1")
    vector: Any = gymnasium.make_vec("CartPole-v1", num_envs=WIDE, vectorization_mode="vector_entry_point")
    single.reset(seed=0)
    vector.reset(seed=0)
    rng = np.random.default_rng(0)
    one, many = np.zeros(1, np.int64), np.zeros(WIDE, np.int64)

    def choose(actions: NDArray[np.int64]) -> None:
        actions[:] = rng.integers(2, size=len(actions))

    def step() -> None:
        _, _, terminated, truncated, _ = single.step(one[0])
        if terminated or truncated:
            single.reset()

    return [
        Case("CartPole-v1, single", 1, step, prepare=lambda: choose(one), close=single.close),
        Case(
            f"CartPole-v1, vector of {WIDE:,}",
            WIDE,
            lambda: vector.step(many),
            prepare=lambda: choose(many),
            close=vector.close,
        ),
    ]


SECTIONS: tuple[Callable[[], list[Case]], ...] = (
    vector_environments,
    single_environments,
    gymnasium_peers,
    core,
)
"""Sections in display order."""
