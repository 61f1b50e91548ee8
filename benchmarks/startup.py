"""Processor time of a plain script's first seconds: import, make, reset and one step.

    python -m benchmarks.startup

The first start compiles into an empty cache, the second loads from it. `import numba` in the same run shows how fast
the machine is on the day.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

LEVELS = ("Debt", "Energy", "Gate", "Lab")
TURNS = 3
SCRIPT = """
import gymnasium
import solvent
env = gymnasium.make("Solvent/{level}-v0")
env.reset(seed=0)
env.step(0)
"""


def seconds(script: str, cache: str) -> tuple[float, float]:
    """Return the processor time and the wall time of a script in a process of its own."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    environment = os.environ | {"NUMBA_CACHE_DIR": cache}
    subprocess.run([sys.executable, "-c", script], check=True, env=environment, stderr=subprocess.DEVNULL)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall


def main() -> None:
    """Print a row for each level: processor time of both starts, and wall time of the second."""
    times: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for _ in range(TURNS):
        with tempfile.TemporaryDirectory() as cache:
            times.setdefault(("numba", ""), []).append(seconds("import numba", cache))
            for level in LEVELS:
                for which in ("first", "second"):
                    script = SCRIPT.format(level=level)
                    times.setdefault((level, which), []).append(seconds(script, cache))
    numba = statistics.median(cpu for cpu, _ in times["numba", ""])
    print(f"import numba: {numba:.2f} s of processor time; medians of {TURNS}")
    print("| level | first start | of `import numba` | second start | wall |")
    print("|---|---:|---:|---:|---:|")
    for level in LEVELS:
        first = statistics.median(cpu for cpu, _ in times[level, "first"])
        second = statistics.median(cpu for cpu, _ in times[level, "second"])
        wall = statistics.median(took for _, took in times[level, "second"])
        print(f"| {level} | {first:.1f} s | {first / numba:.0f} | {second:.2f} s | {wall:.2f} s |")


if __name__ == "__main__":
    main()
