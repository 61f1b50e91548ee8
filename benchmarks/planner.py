"""Processor time of a decision of the planner and the oracle, by level and by K.

    python -m benchmarks.planner

The study ``learners`` has their returns.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvent.lab.params import LabParams, preset
from solvent_agents.agent import Actions, Observations
from solvent_agents.planning.oracle import Oracle
from solvent_agents.planning.planner import Effort, Planner, RolloutAgent
from solvent_agents.rollout import episodes

PRESETS = ("default", "energy", "gate", "lab")
EPISODES = 20


class Stopwatch(RolloutAgent):
    """Mixin that adds up the processor time of an agent's decisions."""

    seconds, decisions = 0.0, 0

    def act(self, observations: Observations, masks: NDArray[np.int8]) -> Actions:
        began = time.thread_time()
        actions = super().act(observations, masks)
        self.seconds += time.thread_time() - began
        self.decisions += len(observations)
        return actions


class TimedPlanner(Stopwatch, Planner):
    """The planner with a stopwatch."""


class TimedOracle(Stopwatch, Oracle):
    """The oracle with a stopwatch."""


def decision(make: Any, params: LabParams, worlds: int) -> float:
    """Return the processor time of a decision in milliseconds."""
    episodes(make(params, 0, Effort(worlds=worlds)), params, [0])  # compiles
    timed = make(params, 0, Effort(worlds=worlds))
    episodes(timed, params, range(EPISODES), batch=1)
    return 1000.0 * timed.seconds / timed.decisions


def main() -> None:
    """Print a line for each level, agent and K."""
    for level in PRESETS:
        params = preset(level)
        for make, worlds in ((TimedPlanner, 8), (TimedPlanner, 16), (TimedPlanner, 32), (TimedOracle, 16)):
            print(
                f"{level:8} {make.name:8} K = {worlds:2}  {decision(make, params, worlds):6.1f} ms",
                flush=True,
            )


if __name__ == "__main__":
    main()
