"""Rates of Solvent beside environments that a user might pick instead, those of them that are installed.

    pip install envpool gymnax six jumanji minigrid
    python -m benchmarks.peers

A step of one is not a step of another: the table in docs/benchmarks.md says what each step does. Every case takes
random actions, of its own where the labs' need a mask, and resets what ends.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from typing import Any

import gymnasium
import numpy as np

from benchmarks.__main__ import show
from benchmarks.cases import ENV_ID, LAB_ID, WIDE, gymnasium_peers, single_case, vector_case
from benchmarks.measure import Case, machine, measure

TURNS, SECONDS = 15, 0.1


def envpool_cases() -> Iterator[Case]:
    """Yield EnvPool's cart-pole: a pool of C++ environments, one thread."""
    import envpool

    pool = envpool.make("CartPole-v1", env_type="gymnasium", num_envs=WIDE, num_threads=1)
    pool.reset()
    rng, actions = np.random.default_rng(0), np.zeros(WIDE, np.int32)

    def choose() -> None:
        actions[:] = rng.integers(2, size=WIDE)

    yield Case(f"EnvPool CartPole-v1, {WIDE:,}", WIDE, lambda: pool.step(actions), choose, pool.close)


def gymnax_cases() -> Iterator[Case]:
    """Yield gymnax's cart-pole, mapped and compiled by jax."""
    import gymnax
    import jax

    env, params = gymnax.make("CartPole-v1")
    states = jax.vmap(env.reset, (0, None))(jax.random.split(jax.random.key(0), WIDE), params)[1]
    step = jax.jit(jax.vmap(env.step, (0, 0, 0, None)))
    yield _jax_case(f"gymnax CartPole-v1, {WIDE:,}", states, lambda *args: step(*args, params)[1], 2)


def jumanji_cases() -> Iterator[Case]:
    """Yield jumanji's 2048, mapped and compiled by jax."""
    import jax
    import jumanji
    from jumanji.wrappers import AutoResetWrapper

    env = AutoResetWrapper(jumanji.make("Game2048-v1"))
    states = jax.vmap(env.reset)(jax.random.split(jax.random.key(0), WIDE))[0]
    step = jax.jit(jax.vmap(env.step))
    yield _jax_case(
        f"jumanji Game2048-v1, {WIDE:,}", states, lambda _, state, action: step(state, action)[0], 4
    )


def _jax_case(name: str, states: Any, advance: Callable[..., Any], n_actions: int) -> Case:
    import jax

    rng = np.random.default_rng(0)
    held = {"states": states, "keys": None, "actions": None}

    def choose() -> None:
        held["keys"] = jax.random.split(jax.random.key(int(rng.integers(1 << 30))), WIDE)
        held["actions"] = jax.numpy.asarray(rng.integers(n_actions, size=WIDE))
        jax.block_until_ready((held["keys"], held["actions"]))

    def step() -> None:
        held["states"] = jax.block_until_ready(advance(held["keys"], held["states"], held["actions"]))

    return Case(name, WIDE, step, choose)


def minigrid_cases() -> Iterator[Case]:
    """Yield a single Minigrid environment."""
    import minigrid  # noqa: F401  registers its environments

    env: Any = gymnasium.make("MiniGrid-Empty-5x5-v0")
    env.reset(seed=0)
    rng = np.random.default_rng(0)

    def step() -> None:
        _, _, terminated, truncated, _ = env.step(int(rng.integers(7)))
        if terminated or truncated:
            env.reset()

    yield Case("MiniGrid-Empty-5x5-v0, single", 1, step, close=env.close)


PEERS = {
    "envpool": envpool_cases,
    "gymnax": gymnax_cases,
    "jumanji": jumanji_cases,
    "minigrid": minigrid_cases,
}


def main() -> None:
    """Print the rates of Solvent, of Gymnasium's cart-pole and of every peer that is installed."""
    print(", ".join(f"{key} {value}" for key, value in machine().items()))
    cases = [vector_case(WIDE, "", {}, level) for level in (ENV_ID, LAB_ID)]
    cases += [single_case(level) for level in (ENV_ID, LAB_ID)]
    cases += gymnasium_peers()
    for package, make in PEERS.items():
        if importlib.util.find_spec(package):
            cases += make()
        else:
            print(f"{package} is not installed: left out")
    show(measure(cases, TURNS, SECONDS))


if __name__ == "__main__":
    main()
