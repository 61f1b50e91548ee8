"""Search: the ploy that pays an adversary best, by CMA-ES (Hansen 2016, as implemented in pycma).

Candidates of a generation play the same labs, those of the next one others, so that none is fitted to its luck. The
found ploy plays fresh labs.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import cma
import numpy as np

from solvent import LabParams
from solvent_agents import rollout
from solvent_agents.planning.adversary import Adversary, Ploy
from solvent_agents.planning.planner import base_temper
from solvent_agents.planning.rollout_policy import Temper
from solvent_experiments.artifacts.parquet import Columns, flatten

__all__ = ["RANGES", "Exploit", "exploits"]

SEARCHED = 1_000_000
"""The first seed of the labs in which candidates play; evaluations and training use lower ones."""
POPULATION = 16
GENERATIONS = 120

RANGES: Mapping[str, tuple[float, float]] = {
    "claim": (-3.0, 7.0),
    "claim_by_debt": (-4.0, 4.0),
    "claim_by_time": (-4.0, 4.0),
    "confidence": (-2.0, 2.0),
    "confidence_by_debt": (-1.0, 1.0),
    "early": (0.0, 3.0),
    "private": (-1.0, 2.0),
    "last_beats": (-2.0, 8.0),
    "wait_beats": (-2.0, 11.0),
    "licence_worth": (0.0, 2.0),
    "debt_worth": (0.0, 3.0),
    "well_price": (0.0, 0.1),
    "usual_wells": (1.0, 20.0),
    "scarcity": (0.0, 2.0),
    "repay_worth": (-1.0, 3.0),
    "lot_worth": (-2.0, 12.0),
    "least_worth": (-2.0, 0.5),
    "gate_beats": (0.0, 6.0),
    "energy_margin": (-4.0, 2.0),
    "dear_factor": (0.3, 2.0),
}
"""The searched numbers of ``Ploy`` and ``Temper``, and their ranges."""
WIDTH = 0.15
"""The first standard deviation, in widths of the ranges."""


class Exploit:
    """A family of adversaries: those with ``fixed`` numbers; ``ranges`` narrows those of others.

    The search begins at the base policy's numbers, moved into their ranges.
    """

    name = "exploit"

    def __init__(
        self,
        params: LabParams,
        fixed: Mapping[str, float] | None = None,
        ranges: Mapping[str, Sequence[float]] | None = None,
    ) -> None:
        self.params = params
        self.fixed = dict(fixed or {})
        narrowed = {name: (low, high) for name, (low, high) in (ranges or {}).items()}
        self.ranges = {name: pair for name, pair in {**RANGES, **narrowed}.items() if name not in self.fixed}
        usual = {**dataclasses.asdict(Ploy()), **dataclasses.asdict(base_temper(params))}
        self.start = {
            name: float(np.clip(usual[name], low, high)) for name, (low, high) in self.ranges.items()
        }

    def agent(self, numbers: Mapping[str, float]) -> Adversary:
        """Return the adversary with these numbers and the fixed ones."""
        chosen = {**numbers, **self.fixed}
        ploy = {name: value for name, value in chosen.items() if name in Ploy.__dataclass_fields__}
        temper = {name: value for name, value in chosen.items() if name in Temper.__dataclass_fields__}
        usual = base_temper(self.params)
        return Adversary(self.params, 0, Ploy(**ploy), dataclasses.replace(usual, **temper))

    def search(self, generations: int, episodes: int) -> dict[str, float]:
        """Return the numbers found by so many generations, each candidate playing so many episodes."""
        names = list(self.ranges)
        lows, highs = (np.array([self.ranges[name][end] for name in names]) for end in (0, 1))
        evolution = cma.CMAEvolutionStrategy(
            [
                (self.start[name] - low) / (high - low)
                for name, low, high in zip(names, lows, highs, strict=True)
            ],
            WIDTH,
            {"bounds": [0.0, 1.0], "popsize": POPULATION, "seed": 1, "verbose": -9},
        )

        def numbers(unit: Sequence[float]) -> dict[str, float]:
            return dict(zip(names, (lows + np.asarray(unit) * (highs - lows)).tolist(), strict=True))

        for generation in range(generations):
            first = SEARCHED + generation * episodes
            candidates = evolution.ask()
            returns = [
                self.mean_return(numbers(candidate), range(first, first + episodes))
                for candidate in candidates
            ]
            evolution.tell(candidates, [-value for value in returns])
        return numbers(evolution.result.xfavorite)

    def mean_return(self, numbers: Mapping[str, float], seeds: Sequence[int]) -> float:
        """Return the mean return of an adversary with these numbers, bits."""
        played = rollout.episodes(self.agent(numbers), self.params, seeds, batch=len(seeds))
        return float(played["return"].mean())


def exploits(agent: Exploit, params: LabParams, seeds: Sequence[int]) -> Columns:
    """Search; return an episode of the best ploy in each lab, with its numbers in columns ``ploy/<name>``.

    Candidates play a sixteenth of the episodes, in other labs.
    """
    episodes = len(seeds)
    found = agent.search(max(2, min(GENERATIONS, episodes // 32)), max(2, episodes // 16))
    columns = flatten(rollout.episodes(agent.agent(found), params, seeds))
    numbers = {f"ploy/{name}": np.full(episodes, value) for name, value in (found | agent.fixed).items()}
    return {"episode_seed": columns.pop("seed"), **columns, **numbers}
