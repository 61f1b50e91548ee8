"""Processor time of a step here, against the sources of another version.

    python -m benchmarks.against CHECKOUT

Each version plays at random among what would execute, in processes that take turns, so a busy minute slows both.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.cases import CART_POLE, LEVELS, WIDE, single, vector

ROOT = Path(__file__).resolve().parent.parent
TURNS = 3
SECONDS = 1.0
CASES = [f"{env} {n}" for env in LEVELS for n in (1, WIDE)]
PROGRAM = "from benchmarks.against import microseconds; print(microseconds({case!r}))"


def microseconds(name: str) -> float:
    """Return the processor time per lab and step of a case, an id and its number of labs."""
    env_id, n = name.split()
    case = vector(env_id, int(n)) if int(n) > 1 else single(env_id)
    case.turn(SECONDS / 2)
    spent, steps = 0.0, 0
    while spent < SECONDS:
        case.prepare()
        start = time.process_time()
        case.step()
        spent += time.process_time() - start
        steps += case.steps
    return spent / steps * 1e6


def measured(checkout: Path, name: str) -> float:
    """Return the time of a case in a process that takes the lab's sources from a checkout."""
    paths = os.pathsep.join(map(str, (checkout / "envs", ROOT)))
    environment = os.environ | {
        "PYTHONPATH": paths,
        "NUMBA_CACHE_DIR": str(checkout.resolve() / ".numba_cache"),
    }
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(case=name)],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout)


def main() -> None:
    """Print a row for each case."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.against", description=__doc__)
    parser.add_argument("checkout", type=Path, help="a clone of the other version")
    other = parser.parse_args().checkout
    if not (other / "envs" / "solvent").is_dir():
        parser.error(f"{other}: no envs/solvent in it; allowed: a clone of Solvent")
    print("| level | labs | microseconds per step | there | ratio |\n|---|---:|---:|---:|---:|")
    for name in CASES:
        times = [(measured(ROOT, name), measured(other, name)) for _ in range(TURNS)]
        here, there = (statistics.median(column) for column in zip(*times, strict=True))
        level, n = name.split()
        print(f"| {level} | {int(n):,} | {here:.2f} | {there:.2f} | {here / there:.2f} |", flush=True)
    pole = statistics.median(measured(ROOT, f"{CART_POLE} {WIDE}") for _ in range(TURNS))
    print(f"| {CART_POLE} | {WIDE:,} | {pole:.2f} | | |")


if __name__ == "__main__":
    main()
