"""Saving: the energy that time brings, and how much of it can still go into publishing.

Mechanism. Findings can only be published while the user is there, and cost double late; energy comes a little each
heartbeat and is lost above a cap. From a heartbeat ``t`` with energy ``e``, the most that can be spent on publishing
is what there will be at the next good hour ``g``, and after it what each heartbeat brings until the last good hour,
where a night brings no more than the cap:

    publishable(t, e) = min(cap, left(t) e + brought(t)) + later(g),    left(t) = (1 - leak)^(g - t)

Known approximation: energies are divisible; the last of them may not reach for another finding.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from solvent.lab.mechanisms.energy import (
    CAP,
    LATE_FROM,
    LATE_UNTIL,
    PRESENT_FROM,
    PRESENT_UNTIL,
    hour_of,
    within_hours,
)
from solvent.lab.params import LabParams
from solvent.lab.settings import UNIT

__all__ = ["EnergyForecast", "forecast_energy"]


BLOCK = 64
"""Arrays have a multiple of this length, so that scripts are compiled once for horizons of most lengths."""


class EnergyForecast(NamedTuple):
    """What time brings from each heartbeat on, the horizon included; energies in thousandths."""

    next_good: NDArray[
        np.int64
    ]  # next heartbeat in which publishing costs no more than it must; the horizon for none
    left: NDArray[np.float64]  # share of today's energy that is left then
    brought: NDArray[np.int64]  # what the heartbeats until then bring
    later: NDArray[np.int64]  # what good hours after it bring


def forecast_energy(params: LabParams) -> EnergyForecast:
    """Return the forecast for labs with these parameters."""
    energy, horizon = params.energy, params.budget.heartbeats
    length = BLOCK * (horizon // BLOCK + 1)
    next_good, left = np.full(length, horizon), np.ones(length)
    brought, later = np.zeros(length), np.zeros(length)
    for t in reversed(range(horizon)):
        hour, following = hour_of(params.budget.start_hour, t), next_good[t + 1]
        comes = energy.regeneration * left[t + 1] + brought[t + 1]
        if within_hours(hour, PRESENT_FROM, PRESENT_UNTIL) and not within_hours(hour, LATE_FROM, LATE_UNTIL):
            next_good[t] = t
            if following < horizon:
                later[t] = min(CAP, comes) + later[following]
        else:
            next_good[t], left[t], brought[t] = following, (1.0 - energy.leak) * left[t + 1], comes
    thousandths = (np.round(values * UNIT).astype(np.int64) for values in (brought, later))
    return EnergyForecast(next_good, left, *thousandths)
