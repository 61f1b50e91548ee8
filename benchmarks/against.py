"""Processor time of a step here, against the sources of another version.

    python -m benchmarks.against CHECKOUT

Both versions take the same actions, in processes that take turns. The fastest turn counts, the least disturbed one.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from benchmarks.cases import CART_POLE, LEVELS, WIDE

ROOT = Path(__file__).resolve().parent.parent
PROCESSES = 4
EPISODES = 40
STEPS = 6
SENTENCES = {
    "rest": "rest",
    "screen": "screen nocodazole, claiming 0 bits",
    "dose response": "dose response nocodazole, claiming 0 bits",
}
PROGRAM = "from benchmarks.against import microseconds; print(*microseconds({!r}))"


def microseconds(env_id: str) -> list[float]:
    """Return the processor time per lab and step: single and in a vector of 1,024, for each kind of action."""
    import solvent  # noqa: F401 - registers the levels

    single: Any = gymnasium.make(env_id, disable_env_checker=True)
    vector: Any = gymnasium.make_vec(env_id, num_envs=WIDE, vectorization_mode="vector_entry_point")
    if env_id == CART_POLE:
        return [_fastest(single, 0), _fastest(vector, np.zeros(WIDE, np.int64)) / WIDE]
    named = {single.unwrapped.sentence(i): i for i in range(single.action_space.n)}
    actions = [named[sentence] for sentence in SENTENCES.values()]
    found = [_fastest(single, action) for action in actions]
    return found + [_fastest(vector, np.full(WIDE, action)) / WIDE for action in actions]


def _fastest(env: Any, action: Any) -> float:
    fastest = float("inf")
    for _ in range(EPISODES):
        env.reset(seed=0)
        for _ in range(STEPS):
            start = time.process_time_ns()
            env.step(action)
            fastest = min(fastest, (time.process_time_ns() - start) / 1000)
    return fastest


def measured(checkout: Path, env_id: str) -> list[float]:
    """Return the times of a level in a process that takes the lab's sources from a checkout."""
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(map(str, (checkout / "envs", ROOT))),
        "NUMBA_CACHE_DIR": str(checkout.resolve() / ".numba_cache"),
    }
    program = [sys.executable, "-c", PROGRAM.format(env_id)]
    done = subprocess.run(program, env=environment, capture_output=True, text=True, check=True)
    return [float(number) for number in done.stdout.split()]


def main() -> None:
    """Print a row for each level, number of labs and kind of action."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.against", description=__doc__)
    parser.add_argument("checkout", type=Path, help="a clone of the other version")
    other = parser.parse_args().checkout
    if not (other / "envs" / "solvent").is_dir():
        parser.error(f"{other}: no envs/solvent in it; allowed: a clone of Solvent")
    print("| level | labs | action | microseconds per step | there | ratio |\n|---|---:|---|---:|---:|---:|")
    for env_id in (*LEVELS, CART_POLE):
        turns = [(measured(ROOT, env_id), measured(other, env_id)) for _ in range(PROCESSES)]
        here, there = (map(min, zip(*version, strict=True)) for version in zip(*turns, strict=True))
        kinds = list(SENTENCES) if env_id != CART_POLE else ["push"]
        for (n, kind), mine, its in zip(
            ((n, kind) for n in (1, WIDE) for kind in kinds), here, there, strict=True
        ):
            print(f"| {env_id} | {n:,} | {kind} | {mine:.2f} | {its:.2f} | {mine / its:.2f} |", flush=True)


if __name__ == "__main__":
    main()
