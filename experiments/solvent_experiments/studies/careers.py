"""Careers: labs that go on from one episode to the next, so that what is carried over can be seen."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from solvent import LabParams
from solvent.lab.columns import episode_columns
from solvent_agents.agent import Agent
from solvent_experiments.artifacts.parquet import Columns, flatten, joined
from solvent_experiments.studies.walking import walk

__all__ = ["LENGTH", "careers"]

LENGTH = 8
"""Episodes of a career."""


def careers(agent: Agent, params: LabParams, seeds: Sequence[int]) -> Columns:
    """``LENGTH`` episodes in a row of the first labs, as many episodes in all as there are ``seeds``.

    ``number`` counts the episodes of a lab from 0, ``owed_before`` is the debt that an episode began with, bits.
    """
    labs = np.asarray(seeds[: max(1, len(seeds) // LENGTH)])
    number = np.zeros(len(labs), np.int64)
    owed = np.zeros(len(labs))
    parts: list[Columns] = []
    for step in walk(agent, params, labs.tolist()):
        ended = np.flatnonzero(step.ended & (number < LENGTH))
        if len(ended):
            columns = flatten(episode_columns(params, step.envs.batch.finals, ended))
            place: Columns = {
                "episode_seed": labs[ended],
                "number": number[ended],
                "owed_before": owed[ended].copy(),
            }
            parts.append(place | columns)
            number[ended] += 1
            owed[ended] = step.envs.batch.labs["debt"][ended]
        if (number >= LENGTH).all():
            break
    return joined(parts)
