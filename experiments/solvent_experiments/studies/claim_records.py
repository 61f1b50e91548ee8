"""Claims, one by one: what was claimed, what could be expected under the belief that was shown, and what came of it.

The *quantile* of a claim is its place in the forecast distribution of the gain: the probability that the experiment
teaches less, and half of that it teaches just as much. The newsvendor's best claim is a quantile; which one says
how dear debt is to who claims. Forecasts are those of the honest script, with its approximation: within a lot the
instrument and a measured compound are taken as independent.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from solvent import LabParams
from solvent.lab.actions import action_table
from solvent.lab.codes import Event
from solvent.lab.verbs import EXPERIMENTS
from solvent_agents.agent import Agent
from solvent_agents.planning.expected_gain import Forecaster
from solvent_agents.reading import Reader
from solvent_experiments.artifacts.parquet import Columns, joined
from solvent_experiments.studies.walking import Step, walk

__all__ = ["claim_records"]

BATCH = 256


def claim_records(agent: Agent, params: LabParams, seeds: Sequence[int]) -> Columns:
    """A row for each experiment that ran in the first episode of labs with these ``seeds``."""
    parts = []
    reader, forecaster = Reader(params), Forecaster(params)
    for first in range(0, len(seeds), BATCH):
        chosen = np.asarray(seeds[first : first + BATCH])
        running = np.ones(len(chosen), np.bool_)
        for step in walk(agent, params, chosen.tolist()):
            parts.append(_claims(step, running, chosen, params, reader, forecaster))
            running &= ~step.ended
            if not running.any():
                break
    return joined(parts)


def _claims(
    step: Step, running: Any, seeds: Any, params: LabParams, reader: Reader, forecaster: Forecaster
) -> Columns:
    steps = step.envs.batch.steps
    rows = np.flatnonzero(running & (steps["event"] == int(Event.EXPLORED)))
    table = action_table(params)[step.actions[rows]]
    seen = reader.read(step.observations[rows])
    own = seen.marginal[np.arange(len(rows)), table["compound"].astype(np.int64)]
    expected, place, best = np.zeros(len(rows)), np.zeros(len(rows)), np.zeros(len(rows))
    for verb in EXPERIMENTS:
        mine = np.flatnonzero(table["verb"] == int(verb))
        if len(mine):
            weights, gains, _ = forecaster.experiment(verb, seen.instrument[mine], own[mine])
            claim = table["claim"][mine, None]
            expected[mine] = (weights * gains).sum(axis=1)
            place[mine] = (weights * ((gains < claim) + 0.5 * (gains == claim))).sum(axis=1)
            best[mine] = gains.max(axis=1)
    return {
        "episode_seed": seeds[rows],
        "heartbeat": seen.heartbeat,
        "verb": table["verb"].astype(np.int64),
        "debt": step.debt[rows],
        "claim": table["claim"].astype(np.float64),
        "gain": steps["gain"][rows].astype(np.float64),
        "expected": expected,
        "most": best,
        "quantile": place,
    }
