"""The observation: named elements in [-1, 1], without any hidden state.

Each mechanism names its elements (``Mechanism.observed``) and writes them (``observe``), in the order of
``MECHANISMS``. An unbounded quantity ``x >= 0`` is shown as ``x / (x + scale)``, which is invertible.

Known approximations: the observation omits some of the state.

* The marginals do not show the dependence of each compound's belief on the instrument within a lot, ``p(class |
  instrument)``. With ``observation.joint`` it is appended and the process is exactly Markov in the observation;
  without it, Markov up to that dependence.
* Of the last four uses of a verb, the number of failures is shown, not their order.
* Within a heartbeat, the deferred verbs, the compounds of rejected findings and the energy spent so far are not
  shown.
* Base costs whose effective cost is limited to the cap look alike.
* Of a notebook page, its length, the strength of its fit and the gate's view of it are shown, not its sentences, on
  which future residuals depend.
"""

from __future__ import annotations

import functools

import numpy as np
from gymnasium.spaces import Box

from solvent.lab.compiled import compiled
from solvent.lab.mechanisms import (
    MECHANISMS,
    adequacy,
    assay,
    belief,
    debt,
    energy,
    episode,
    gate,
    proposals,
    publication,
)
from solvent.lab.params import LabParams

__all__ = ["observation_fields", "observation_space", "write_observation"]


@functools.lru_cache(maxsize=64)
def observation_fields(params: LabParams) -> tuple[str, ...]:
    """Return the names of the observation's elements."""
    return tuple(name for each in MECHANISMS if each.active(params) for name in each.observed(params))


def observation_space(params: LabParams) -> Box:
    """Return ``Box(-1, 1, (len(observation_fields),), float32)``."""
    return Box(-1.0, 1.0, (len(observation_fields(params)),), np.float32)


@compiled
def write_observation(lab, tables, out):  # type: ignore[no-untyped-def]
    """Write the observation of ``lab`` into ``out``, shape ``(n_fields,)`` float32; return the number of elements."""
    at = episode.observe(lab, tables, out, 0)
    at = assay.observe(lab, tables, out, at)
    at = belief.observe(lab, tables, out, at)
    at = debt.observe(lab, tables, out, at)
    at = publication.observe(lab, out, at)
    if tables.energy.enabled:
        at = energy.observe(lab, tables, out, at)
        at = proposals.observe(lab, tables, out, at)
    if tables.gate.enabled:
        at = gate.observe(lab, tables, out, at)
    if tables.adequacy.enabled:
        at = adequacy.observe(lab, tables, out, at)
    return at
