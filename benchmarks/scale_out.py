"""Overhead of a Ray cluster on this machine: the same run in processes and on Ray, in turn.

    python -m benchmarks.scale_out                      the table of docs/scale_out.md
    python -m benchmarks.scale_out --config configs/quickstart.yaml --turns 1

The benchmark measures wall time and, as other programs hardly affect it, the processor time of the command and all
processes that it starts. It polls them twenty times a second, so it misses up to the last twentieth of each. Both runs
must leave the same artifacts.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import psutil

from solvent_experiments.run.backends import BACKENDS

LOOK_EVERY = 0.05  # seconds


def run(config: Path, backend: str, jobs: int, root: Path) -> tuple[float, float]:
    """Return the wall seconds and processor seconds of a run."""
    code = "from solvent_experiments.__main__ import main; main()"
    options = ["--backend", backend, "--jobs", str(jobs), "--out", str(root), "--quiet"]
    began = time.perf_counter()
    command = subprocess.Popen(
        [sys.executable, "-c", code, "run", str(config), *options], stdout=subprocess.DEVNULL
    )
    spent: dict[int, float] = {}
    while command.poll() is None:
        with contextlib.suppress(psutil.Error):
            parent = psutil.Process(command.pid)
            for process in [parent, *parent.children(recursive=True)]:
                with contextlib.suppress(psutil.Error):
                    times = process.cpu_times()
                    spent[process.pid] = times.user + times.system
        time.sleep(LOOK_EVERY)
    if command.returncode:
        sys.exit(f"the run on {backend} ended with {command.returncode}")
    return time.perf_counter() - began, sum(spent.values())


def artifacts(root: Path) -> dict[str, str]:
    """Return name and SHA-256 of a run's artifacts."""
    found: dict[str, str] = json.loads((root / "manifest.json").read_text(encoding="utf-8"))["artifacts"]
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Run and print a line for each backend."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.scale_out", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--config", type=Path, default=Path("configs/smoke.yaml"))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--turns", type=int, default=5)
    options = parser.parse_args(arguments)
    taken: dict[str, list[tuple[float, float]]] = {backend: [] for backend in BACKENDS}
    with tempfile.TemporaryDirectory() as scratch:
        for turn in range(options.turns):
            roots = {backend: Path(scratch, f"{backend}-{turn}") for backend in BACKENDS}
            for backend, root in roots.items():
                taken[backend].append(run(options.config, backend, options.jobs, root))
            left = [artifacts(root) for root in roots.values()]
            if any(other != left[0] for other in left):
                sys.exit("the artifacts differ")
    print("| backend | wall, median (s) | processors, median (s) | ratio to processes, by turn |")
    print("|---|---|---|---|")
    first = np.array(taken[BACKENDS[0]])
    for backend, times in taken.items():
        wall, work = np.median(times, axis=0)
        ratios = np.median(np.array(times) / first, axis=0)
        print(f"| {backend} | {wall:.1f} | {work:.1f} | {ratios[0]:.2f} wall, {ratios[1]:.2f} processors |")


if __name__ == "__main__":
    main()
