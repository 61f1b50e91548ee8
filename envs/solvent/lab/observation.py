"""The observation: named elements in [-1, 1], without any hidden state.

Each mechanism names its elements (``Mechanism.observed``) and writes them (``observe``), in the order of
``MECHANISMS``; ``mechanisms/__init__.py`` calls the writers. An unbounded quantity ``x >= 0`` is shown as
``x / (x + scale)``, which is invertible.

Known approximations: the observation omits some of the state.

* The marginals do not show the dependence of each compound's belief on the instrument within a lot, ``p(class |
  instrument)``. With ``observation.joint`` it is appended and the process is exactly Markov in the observation;
  without it, Markov up to that dependence.
* Of the last four uses of a verb, the number of failures is shown, not their order.
* Within a heartbeat, the deferred verbs, the compounds of rejected findings and the energy spent so far are not
  shown.
* Base costs whose effective cost is limited to the cap look alike.
* The time from which a price may change again is not shown, and that of a review only up to the usual time to one.
* Of a notebook page, its length, the strength of its fit and the gate's view of it are shown, not its sentences, on
  which future residuals depend.
"""

from __future__ import annotations

import functools

import numpy as np
from gymnasium.spaces import Box

from solvent.lab.mechanisms import MECHANISMS
from solvent.lab.params import LabParams


@functools.lru_cache(maxsize=64)
def observation_fields(params: LabParams) -> tuple[str, ...]:
    """Return the names of the observation's elements."""
    return tuple(name for each in MECHANISMS if each.active(params) for name in each.observed(params))


def observation_space(params: LabParams) -> Box:
    """Return ``Box(-1, 1, (len(observation_fields),), float32)``."""
    return Box(-1.0, 1.0, (len(observation_fields(params)),), np.float32)
