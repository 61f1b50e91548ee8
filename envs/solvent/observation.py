"""The observation: what the agent sees, every element named, everything in [-1, 1]. The hidden truth is not in it.

Books first, then the instrument, then a row for each compound. A quantity ``x >= 0`` without a bound is
shown as ``x / (x + scale)``, which loses nothing.

Known approximation: the marginals do not show how far each compound's belief still depends on the
instrument within a lot (``p(class | instrument)``). With ``observation.joint`` they are appended and the
process is exactly Markov in the observation; without, it is so up to that dependence.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
from gymnasium.spaces import Box

from solvent.compiled import compiled
from solvent.mechanisms.debt import multiplier
from solvent.params import LabParams
from solvent.state import Event

__all__ = ["observation_fields", "observation_space", "write_observation"]

BOOKS = ("wells", "heartbeat", "debt", "debt_margin", "cost_inflation", "lot_countdown", "refusals_in_a_row")
COMPOUND = (
    "entropy",
    "lowest_entropy",
    "licence",
    "published_privately",
    "published_publicly",
    "experiments",
)
N_EVENTS = len(Event)
BITS = 2.0
COUNT = 4.0


@functools.lru_cache(maxsize=64)
def observation_fields(params: LabParams) -> tuple[str, ...]:
    """The name of every element of the observation."""
    assay = params.assay
    names = list(BOOKS)
    names += [f"last_event/{event.name.lower()}" for event in Event]
    states = [f"gain={gain:g},plate_sd={sd:g}" for gain in assay.gains for sd in assay.plate_sds]
    names += [f"instrument/{state}" for state in states]
    classes = range(assay.potency_classes)
    for compound in assay.compounds:
        names += [f"{compound}/class_{g}" for g in classes]
        names += [f"{compound}/{name}" for name in COMPOUND]
    if params.observation.joint:
        names += [f"{c}/class_{g}|{s}" for c in assay.compounds for s in states for g in classes]
    return tuple(names)


def observation_space(params: LabParams) -> Box:
    """``Box(-1, 1, (len(observation_fields),), float32)``."""
    return Box(-1.0, 1.0, (len(observation_fields(params)),), np.float32)


@compiled
def write_observation(lab: Any, tables: Any, out: Any) -> None:
    """Write the observation of ``lab`` into ``out``, shape ``(len(observation_fields),)`` float32."""
    n_compounds = lab.marginal.shape[0]
    n_classes = lab.marginal.shape[1]
    n_states = lab.instrument_belief.shape[0]
    most_entropy = math.log2(n_classes)  # a skewed prior can be left upwards
    rules = tables.debt

    out[0] = lab.wells / tables.start_wells
    out[1] = lab.heartbeat / tables.horizon
    out[2] = lab.debt / (lab.debt + BITS)
    out[3] = max(-1.0, min(1.0, (rules.threshold - lab.debt) / BITS))
    out[4] = 1.0 - 1.0 / multiplier(rules, lab.debt, 100, False)
    out[5] = 1.0 - (lab.heartbeat % tables.lot_heartbeats) / tables.lot_heartbeats
    out[6] = lab.refusals_in_a_row / (lab.refusals_in_a_row + COUNT)
    at = len(BOOKS)
    for event in range(N_EVENTS):
        out[at + event] = 0.0
    out[at + lab.last_event] = 1.0
    at += N_EVENTS
    for n in range(n_states):
        out[at + n] = lab.instrument_belief[n]
    at += n_states
    for m in range(n_compounds):
        for g in range(n_classes):
            out[at + g] = lab.marginal[m, g]
        at += n_classes
        out[at] = lab.entropy[m] / most_entropy
        out[at + 1] = lab.lowest_entropy[m] / most_entropy
        out[at + 2] = lab.licence[m] / (lab.licence[m] + BITS)
        out[at + 3] = lab.published[m] == 1
        out[at + 4] = lab.published[m] == 2
        out[at + 5] = lab.experiments[m] / (lab.experiments[m] + COUNT)
        at += len(COMPOUND)
    if tables.observe_joint:
        for m in range(n_compounds):
            for n in range(n_states):
                for g in range(n_classes):
                    out[at] = lab.conditional[m, n, g]
                    at += 1
