"""Saving: how much energy can still go into publishing, and what has to be kept for it.

Mechanism. Findings can only be published while the user is there, and cost double late; energy comes a little each
heartbeat and is lost above a cap. From a heartbeat ``t`` with energy ``e``, the most that can be spent on publishing
is what there will be at the next good hour ``g``, and after it what each heartbeat brings until the last good hour,
where a night brings no more than the cap:

    publishable(t, e) = min(cap, keep^(g - t) e + brought(t)) + later(g),    keep = 1 - leak

What exceeds the need of the findings that are still to come can be spent on something else.

Known approximation: energies are divisible; the last of them may not reach for another finding.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from solvent.lab.mechanisms.energy import hour_of, within_hours
from solvent.lab.params import LabParams
from solvent.lab.tables import tables_for
from solvent.lab.verbs import Verb
from solvent_agents.reading import Reading

__all__ = ["Savings"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


class Savings:
    """Forecasts of the energy in labs with these parameters; unlimited if acting costs none."""

    def __init__(self, params: LabParams) -> None:
        energy, horizon = params.energy, params.budget.heartbeats
        self.wells = tables_for(params).wells
        self.enforced = params.debt.enforced
        self.reserve = self.wells[Verb.DMSO] if params.debt.enforced and params.debt.reserve else 0
        self.calibration_cap = params.debt.calibration_cap or np.inf
        self.enabled = energy.enabled
        self.cap, self.income = energy.cap, energy.regeneration
        hours = [hour_of(params.budget.start_hour, t) for t in range(horizon)]
        self.good = np.array(
            [
                within_hours(hour, energy.present_from, energy.present_until)
                and not within_hours(hour, energy.late_from, energy.late_until)
                for hour in hours
            ]
        )
        # From each heartbeat: the next good hour (the horizon if there is none), the share of today's energy that is
        # left then, what the heartbeats until then bring, and what later good hours bring after it.
        self.next_good = np.full(horizon + 1, horizon)
        self.left = np.ones(horizon + 1)
        self.brought = np.zeros(horizon + 1)
        self.later = np.zeros(horizon + 1)
        for t in reversed(range(horizon)):
            following = self.next_good[t + 1]
            left = (1.0 - energy.leak) * self.left[t + 1]
            brought = self.income * self.left[t + 1] + self.brought[t + 1]
            if self.good[t]:
                self.next_good[t] = t
                if following < horizon:
                    self.later[t] = min(self.cap, brought) + self.later[following]
            else:
                self.next_good[t], self.left[t], self.brought[t] = following, left, brought

    def publishable(self, heartbeat: Ints, energy: Floats) -> Floats:
        """Return the most energy that can go into findings from now on, shape ``(n,)``."""
        if not self.enabled:
            return np.full(len(heartbeat), np.inf)
        at = self.next_good[heartbeat]
        reaches = at < len(self.good)
        ready = np.minimum(self.cap, energy * self.left[heartbeat] + self.brought[heartbeat])
        return np.where(reaches, ready + self.later[at], 0.0)

    def spendable(self, heartbeat: Ints, energy: Floats, kept: Floats) -> Floats:
        """Return the energy to spend now while ``kept`` stays publishable, shape ``(n,)``; at most ``energy``."""
        if not self.enabled:
            return energy
        at = np.minimum(self.next_good[heartbeat], len(self.good))
        later = self.later[at]
        needed_then = np.maximum(0.0, kept - later)  # at the next good hour
        missing = (needed_then - self.brought[heartbeat]) / self.left[heartbeat]
        needed_now = np.where(at < len(self.good), missing, 0.0)
        return np.clip(energy - np.maximum(0.0, needed_now), 0.0, energy)

    def waits_only_for_energy(self, seen: Reading, verb: Verb) -> Flags:
        """Return whether debt and wells allow a plate, so that it is worth saving for; shape ``(n,)``."""
        if not self.enabled:
            return np.zeros(len(seen.wells), np.bool_)
        reserve = np.ceil(self.reserve * np.minimum(seen.inflation, self.calibration_cap))
        payable: Flags = np.ceil(self.wells[verb] * seen.inflation) + reserve <= seen.wells
        return payable & ~(seen.blocked & self.enforced)
