"""How fast Solvent is on this machine, in one table.

    python -m benchmarks               steps, scripts, verdicts and start-up: three minutes
    python -m benchmarks --quick       rough numbers in half a minute
    python -m benchmarks --learning    also PPO's steps and time to the honest script's return on Debt: twenty minutes
    python -m benchmarks --quickstart  also the quickstart: five minutes

A lab's steps are random ones that would execute, so it runs plates, publishes and ends episodes. Cases take short turns
in alternation: a busy minute slows all of them, and ratios hold. The fastest turn is the least disturbed one.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
import numpy as np

import solvent
from solvent_experiments.provenance import machine, write_result
from solvent_experiments.table import Table

ROOT = Path(__file__).resolve().parent.parent
LEVELS = [env_id for env_id in solvent.ENVIRONMENTS if "Tiny" not in env_id]
CART_POLE = "CartPole-v1"
LARGE = {
    "n_timesteps": 4_000_000, "n_envs": 256, "n_steps": 40, "batch_size": 2048, "learning_rate": "lin_3e-3",
    "policy_kwargs": {"width": 64, "value_width": 32},
}  # fmt: skip
"""What PPO's recipe for Debt was in 0.2.0."""
START = "import gymnasium, solvent\nenv = gymnasium.make('{}')\nenv.reset(seed=0)\nenv.step(0)"


class Row(NamedTuple):
    """A measured number; ``typical`` is the median turn beside the fastest, where turns were taken."""

    what: str
    value: float
    unit: str
    typical: float | None = None

    def cells(self) -> tuple[str, str, str]:
        """Return the row of the table."""
        digits = 0 if self.value >= 100 else 1
        typical = "" if self.typical is None else f" ({self.typical:,.{digits}f})"
        return self.what, f"{self.value:,.{digits}f}{typical}", self.unit


class Case:
    """Random steps of one environment, of ``n`` labs or of one without ``n``; choosing the actions is not timed."""

    def __init__(self, env_id: str, n: int | None = None) -> None:
        if n is None:
            self.env: Any = gymnasium.make(env_id)
        else:
            self.env = gymnasium.make_vec(env_id, num_envs=n, vectorization_mode="vector_entry_point")
        self.name = f"{env_id}, single" if n is None else f"{env_id}, vector of {n:,}"
        self.n, self.rng, self.rates = n, np.random.default_rng(0), list[float]()
        self.env.reset(seed=0)

    def turn(self, seconds: float) -> float:
        """Return steps per second over about ``seconds`` of stepping."""
        batch = getattr(self.env.unwrapped, "batch", None)
        masks = np.ones((self.n or 1, 2)) if batch is None else batch.masks
        spent, calls = 0.0, 0
        while spent < seconds:
            actions = (masks * self.rng.random(masks.shape)).argmax(axis=1)
            start = time.perf_counter()
            if self.n is not None:
                self.env.step(actions)
            elif any(self.env.step(actions[0])[2:4]):
                self.env.reset()
            spent += time.perf_counter() - start
            calls += 1
        return calls * (self.n or 1) / spent


def steps(turns: int, seconds: float) -> Iterator[Row]:
    """Time every level, single and in vectors, beside a cart-pole."""
    cases = [Case(LEVELS[0], n) for n in (1, 64, 4096)]
    cases += [Case(env_id, n) for n in (1024, None) for env_id in (*LEVELS, CART_POLE)]
    for case in cases:
        case.turn(seconds / 2)  # compiles, fills caches, spreads the episodes
    for _ in range(turns):
        for case in cases:
            case.rates.append(case.turn(seconds))
    for case in cases:
        yield Row(case.name, max(case.rates), "steps/s", statistics.median(case.rates))


def scripts() -> Iterator[Row]:
    """Time scripts that play Debt in the compiled loop."""
    from solvent_agents import AGENTS, episodes

    params = solvent.preset("default")
    for name in ("honest", "max_claimer"):
        agent = AGENTS[name](params, 0)
        episodes(agent, params, range(10))
        start = time.perf_counter()
        episodes(agent, params, range(4000))
        yield Row(f"script {name} on Debt", 4000 / (time.perf_counter() - start), "episodes/s")


def verdicts() -> Iterator[Row]:
    """Time the gate on claims of a sentence against three sentences, embedding included."""
    from solvent.gate import FIXED, SentenceEmbedder, evaluate_text

    embedder = SentenceEmbedder()
    spans = [f"The mill was {did} in 1890." for did in ("built", "sold", "painted")]
    evaluate_text("The mill was built.", spans, embedder, FIXED["standard"])
    start = time.perf_counter()
    for year in range(100):
        evaluate_text(f"The mill was built in {1800 + year}.", spans, embedder, FIXED["standard"])
    yield Row("verdicts of the gate, one at a time", 100 / (time.perf_counter() - start), "verdicts/s")


def processor_time(command: Sequence[str], **environment: str) -> float:
    """Return the processor time of a command and its children, in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, env=os.environ | environment, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def start_up() -> Iterator[Row]:
    """Time a script's first seconds with an empty cache, and again; the import of numba shows the machine's day."""
    yield Row("import numba", processor_time([sys.executable, "-c", "import numba"]), "s of processor")
    for env_id in ("Solvent/Debt-v0", "Solvent/Lab-v0"):
        with tempfile.TemporaryDirectory() as cache:
            for which in ("first", "second"):
                taken = processor_time([sys.executable, "-c", START.format(env_id)], NUMBA_CACHE_DIR=cache)
                yield Row(f"{which} start of {env_id}", taken, "s of processor")


def learning() -> Iterator[Row]:
    """Train PPO until it earns on validation labs what the honest script does, by its recipe and by that of 0.2.0."""
    import torch

    from solvent_agents import AGENTS, episodes
    from solvent_agents.learning.learned import VALIDATION
    from solvent_experiments.config import experiment_of

    torch.set_num_threads(1)  # as in a run's processes
    params = solvent.preset("default")
    honest = episodes(AGENTS["honest"](params, 0), params, VALIDATION)["return"].mean()
    often = {"recipe": "ppo", "evaluate_every": 50_000}
    given = {"name": "x", "train": {"now": often, "0.2.0": {**often, **LARGE}}}
    for name, recipe in experiment_of(given, ROOT / "x.yaml").train.items():
        passed = [result for seed in range(3) for result in trained_until(honest, recipe or {}, seed)]
        title = f"PPO to the honest return on Debt, recipe of {name}"
        if len(passed) == 3:
            taken, steps = (statistics.median(numbers) for numbers in zip(*passed, strict=True))
            yield Row(f"{title}, median of 3 seeds", steps, "steps")
            yield Row(f"{title}, validation included", taken, "s of processor")
        else:
            yield Row(f"{title}: seeds of 3 that came there", len(passed), "seeds")


def trained_until(earned: float, recipe: Mapping[str, Any], seed: int) -> list[tuple[float, int]]:
    """Return the processor time and the steps until a policy earns so much; nothing if it never does."""
    from solvent_agents.learning.learned import train
    from solvent_agents.learning.recipe import Recipe

    begun, passed = time.process_time(), list[tuple[float, int]]()

    def hear(steps: int, mean: float) -> None:
        if mean >= earned:
            passed.append((time.process_time() - begun, steps))

    with tempfile.TemporaryDirectory() as folder:
        train(
            Recipe.from_mapping(recipe), solvent.preset("default"), seed=seed, folder=Path(folder), track=None,
            on_validation=hear, should_stop=lambda: bool(passed),
        )  # fmt: skip
    return passed[:1]


def quickstart() -> Iterator[Row]:
    """Time the quickstart in its own folder."""
    with tempfile.TemporaryDirectory() as folder:
        config, start = str(ROOT / "configs" / "quickstart.yaml"), time.perf_counter()
        run = [sys.executable, "-m", "solvent_experiments", "run", config, "--out", f"{folder}/run"]
        taken = processor_time(run)
        yield Row("quickstart", taken, "s of processor")
        yield Row("quickstart, all cores", time.perf_counter() - start, "s")


def main() -> None:
    """Measure, print the table, and keep it if asked."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name in ("quick", "learning", "quickstart"):
        parser.add_argument(f"--{name}", action="store_true")
    parser.add_argument("--json", type=Path, metavar="PATH", help="also write the numbers there")
    options = parser.parse_args()
    print(", ".join(f"{key} {value}" for key, value in machine().items()), "\nmeasuring ...", flush=True)
    rows = [*(steps(5, 0.02) if options.quick else steps(60, 0.05)), *scripts(), *verdicts(), *start_up()]
    rows += [*(learning() if options.learning else ()), *(quickstart() if options.quickstart else ())]
    print(Table(("what", "fastest turn (median)", "unit"), tuple(row.cells() for row in rows)).markdown())
    if options.json is not None:
        command = ["python", "-m", "benchmarks", *sys.argv[1:]]
        write_result(options.json, {"rows": [row._asdict() for row in rows]}, command)


if __name__ == "__main__":
    main()
