"""What the planner and the oracle earn, how long they think, and how the base policy was tuned.

    python -m benchmarks.planner                                   the table of docs/planner.md (half an hour)
    python -m benchmarks.planner --levels debt --worlds 8 --episodes 50
    python -m benchmarks.planner --tune debt,gate                  constants of the base policy, on seeds below 10,000

Returns are interquartile means with their 95 % intervals on the evaluations' seeds, from 10,000 on.
``base`` is the policy that is played out, by itself. A line is printed as soon as it is known.
"""

from __future__ import annotations

import argparse
import dataclasses
import time
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from solvent.lab.params import LabParams, preset
from solvent_agents.agent import Actions, Observations
from solvent_agents.planning.oracle import Oracle
from solvent_agents.planning.planner import Effort, Planner, RolloutAgent, base_temper
from solvent_agents.planning.rollout_policy import Temper
from solvent_agents.registry import AGENTS
from solvent_agents.rollout import episodes
from solvent_experiments.measure.statistics import interquartile_mean, interval

PRESETS_OF = {"debt": "default", "energy": "energy", "gate": "gate", "lab": "lab"}
FIRST_SEED = 10_000
CANDIDATES, BEST = 17, 6
"""Constants that are tried in a generation of the tuning, and how many of them make the next."""
SEEDS_A_GENERATION = 400
FROZEN = ("dear_factor", "useful_beats")
"""Taken from the honest script's voice as they are."""


class Stopwatch(RolloutAgent):
    """How long an agent thinks, by the processor's clock; mixed into its class."""

    seconds, decisions = 0.0, 0

    def act(self, observations: Observations, masks: NDArray[np.int8]) -> Actions:
        began = time.thread_time()
        actions = super().act(observations, masks)
        self.seconds += time.thread_time() - began
        self.decisions += len(observations)
        return actions


class TimedPlanner(Stopwatch, Planner):
    """The planner, and how long it thinks."""


class TimedOracle(Stopwatch, Oracle):
    """The oracle, and how long it thinks."""


def line(level: str, name: str, returns: NDArray[np.float64], ceiling: float, thought: str) -> str:
    value, low, high = interval([returns])
    share = f"{value / ceiling:.1%}"
    return f"| {level} | {name} | {value:.2f} ({low:.2f} to {high:.2f}) | {share} | {len(returns):,} | {thought} |"


def rows(
    level: str, params: LabParams, worlds: Sequence[int], seeds: range, agents: Sequence[str]
) -> Iterator[str]:
    """Lines of the table, one agent after the other."""
    many = range(seeds.start, seeds.start + 4000)
    if "honest" in agents:
        honest = episodes(AGENTS["honest"](params, 0), params, many)["return"]
        yield line(level, "honest script", honest, params.ceiling, "")
    if "base" in agents:
        base = episodes(Planner(params, 0, Effort(worlds=0)), params, many)["return"]
        yield line(level, "base", base, params.ceiling, "")
    makers: tuple[type[Stopwatch], ...] = (TimedPlanner, TimedOracle)
    for make in makers:
        # The oracle is a mark: with one effort it is drawn clearly enough.
        for k in (worlds if make is TimedPlanner else [Effort().worlds]) if make.name in agents else ():
            episodes(make(params, 0, Effort(worlds=k)), params, [0])  # compile
            timed = make(params, 0, Effort(worlds=k))
            returns = episodes(timed, params, seeds, batch=1)["return"]
            thought = f"{1000 * timed.seconds / timed.decisions:.0f} ms"
            yield line(level, f"{make.name}, K = {k}", returns, params.ceiling, thought)


def tune(levels: Sequence[str], generations: int, seed: int) -> None:
    """Evolution of the base policy's constants (cross-entropy method) for what they earn on the levels' mean.

    Seeds change from one generation to the next and are all below 10,000.
    """
    labs = [preset(PRESETS_OF[level]) for level in levels]
    start = base_temper(labs[0])
    names = [f.name for f in dataclasses.fields(Temper) if f.name not in FROZEN]
    mean = np.array([getattr(start, name) for name in names])
    spread = np.maximum(0.2 * np.abs(mean), 0.01)
    rng = np.random.default_rng(seed)
    for generation in range(generations):
        first = generation % 20 * SEEDS_A_GENERATION
        seeds = range(first, first + SEEDS_A_GENERATION)
        tried = mean + spread * rng.standard_normal((CANDIDATES, len(names)))
        tried[0] = mean
        earned = [_earned(labs, dict(zip(names, row.tolist(), strict=True)), seeds) for row in tried]
        best = tried[np.argsort(earned)[::-1][:BEST]]
        spread = 0.75 * spread + 0.25 * best.std(axis=0)
        mean = best.mean(axis=0)
        found = ", ".join(f"{name}={value:.3g}" for name, value in zip(names, mean, strict=True))
        print(f"{generation}: {earned[0]:.2f} bits, best of all {max(earned):.2f}: {found}", flush=True)


def _earned(labs: Sequence[LabParams], constants: dict[str, float], seeds: range) -> float:
    temper = dataclasses.replace(base_temper(labs[0]), **constants)
    scores = []
    for params in labs:
        returns = episodes(Planner(params, 0, Effort(worlds=0), temper), params, seeds)["return"]
        scores.append((interquartile_mean(returns) + returns.mean()) / 2)
    return float(np.mean(scores))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--levels", default=",".join(PRESETS_OF), help="of debt, energy, gate, lab")
    parser.add_argument("--agents", default="honest,base,planner,oracle")
    parser.add_argument("--worlds", default="8,16,32", help="values of K")
    parser.add_argument("--episodes", type=int, default=200)
    parser.add_argument("--tune", default="", metavar="LEVELS", help="tune the base policy instead")
    parser.add_argument("--generations", type=int, default=25)
    parser.add_argument("--seed", type=int, default=0, help="of the tuning")
    given = parser.parse_args()
    if given.tune:
        tune(given.tune.split(","), given.generations, given.seed)
        return
    seeds = range(FIRST_SEED, FIRST_SEED + given.episodes)
    worlds = [int(k) for k in given.worlds.split(",")]
    print(
        "| level | agent | return, bits | of the ceiling | episodes | a decision |\n|---|---|---|---|---|---|"
    )
    for level in given.levels.split(","):
        for row in rows(level, preset(PRESETS_OF[level]), worlds, seeds, given.agents.split(",")):
            print(row, flush=True)


if __name__ == "__main__":
    main()
