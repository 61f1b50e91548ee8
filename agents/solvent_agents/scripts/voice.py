"""Voice: how an agent records that a cost is wrong and proposes another.

A proposal needs deferrals from several heartbeats, is filed right after a reflection, and is judged by paid uses. So
the honest voice

1. attempts what it wants and can't pay, once a heartbeat, where the cost is well above its ratings and it would
   otherwise rest: this records a deferral;
2. reflects and proposes once the evidence is complete, if the verb was paid for before and an approval could still
   help.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from solvent.lab.actions import action_table
from solvent.lab.codes import Event
from solvent.lab.mechanisms.energy import MANY_FAILURES, hour_of, within_hours
from solvent.lab.mechanisms.proposals import FELT_VERBS
from solvent.lab.params import LabParams
from solvent.lab.verbs import VERBS, Verb
from solvent_agents.reading import Reading, action_index
from solvent_agents.scripts.saving import Savings

__all__ = ["Habits", "Voice"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclasses.dataclass(frozen=True)
class Habits:
    """The constants of a voice."""

    speaks: bool = True  # otherwise it neither reflects nor proposes
    dear_factor: float = 1.3  # times what its ratings say makes a base cost too dear; 0: everything is
    useful_beats: int = 6  # heartbeats that an approved cost should still be of use
    paid_uses: int = 1  # before it proposes
    asks_first: bool = False  # asks for what it can't pay before it does anything else in a heartbeat


class Voice:
    """Replaces chosen actions by requests, reflections and proposals; ``habits`` has its constants."""

    def __init__(self, params: LabParams, habits: Habits | None = None) -> None:
        self.params = params
        self.habits = habits or Habits()
        self.actions = action_index(params)
        self.savings = Savings(params)
        self.offered = self.actions.propose >= 0
        self.usual = np.array([params.energy.base_cost(VERBS[verb].name) for verb in Verb])
        self.compounds = action_table(params)["compound"].astype(np.int64)
        energy, budget = params.energy, params.budget
        hours = [hour_of(budget.start_hour, t) for t in range(budget.heartbeats + 1)]
        self.late = np.array([within_hours(hour, energy.late_from, energy.late_until) for hour in hours])

    def speak(self, seen: Reading, may: Flags, chosen: Ints, finding: Ints) -> Ints:
        """Return actions for ``n`` labs: ``chosen``, or a request, reflection or proposal in its place.

        ``finding`` is the finding that each lab would publish next. All of shape ``(n,)`` but ``may``, ``(n, A)``.
        """
        if not self.offered or not self.habits.speaks:
            return chosen
        case = self.has_a_case(seen)
        room = seen.slot < self.params.slots - 1
        free = (chosen == self.actions.rest) | (self.habits.asks_first & (seen.slot == 0))
        wanted = self.request(seen, finding)
        chosen = np.where(free & (wanted >= 0), wanted, chosen)
        chosen = np.where(
            case & room & may[:, self.actions.reflect] & ~seen.reflected, self.actions.reflect, chosen
        )
        return np.where(case & may[:, self.actions.propose], self.actions.propose, chosen)

    def has_a_case(self, seen: Reading) -> Flags:
        """Return where a proposal can be filed and should be approved in time, shape ``(n,)``."""
        evidence = self.params.proposals.evidence_heartbeats
        felt = (seen.discomfort >= evidence) & (seen.review == 0) & (seen.uses >= self.habits.paid_uses)
        case: Flags = (felt & self.too_dear(seen)).any(axis=1) & self.in_time(seen)
        return case

    def in_time(self, seen: Reading) -> Flags:
        """Return where an approval could still help, shape ``(n,)``."""
        needed = self.params.proposals.review_heartbeats + self.habits.useful_beats
        left: Flags = seen.beats_left > needed
        return left

    def price(self, seen: Reading) -> Floats:
        """Return the base cost of every verb, from its present cost; shape ``(n, V)``.

        The base cost of a vehicle plate already run in this heartbeat is overestimated.
        """
        energy = self.params.energy
        factor = np.where(seen.uses == 0, energy.first_use, 1.0)
        factor = factor * np.where(seen.failures >= MANY_FAILURES, energy.error_rate, 1.0)
        late = self.late[seen.heartbeat]
        factor[late, Verb.PUBLISH_PRIVATE] *= energy.late_social
        factor[late, Verb.PUBLISH_PUBLIC] *= energy.late_social
        base: Floats = seen.cost / np.clip(factor, 1.0, energy.multiplier_cap)
        return base

    def too_dear(self, seen: Reading) -> Flags:
        """Return the verbs whose base cost is well above their ratings, shape ``(n, V)``."""
        dear: Flags = self.price(seen) > self.habits.dear_factor * self.usual
        return dear

    def request(self, seen: Reading, finding: Ints) -> Ints:
        """Return an action that can't be paid, to record its deferral; -1 for none. Shape ``(n,)``."""
        open_case = (seen.review == 0) & (seen.discomfort < self.params.proposals.evidence_heartbeats)
        asks = (
            self.too_dear(seen) & open_case & (seen.cost > seen.energy[:, None]) & self.in_time(seen)[:, None]
        )
        asks &= self.targets(seen)
        first = (seen.last_event != Event.DEFERRED) | (seen.slot == 0)
        wanted = np.full(len(finding), -1)
        least_known = np.where(seen.unpublished, seen.entropy, -np.inf).argmax(axis=1)
        for verb in FELT_VERBS:
            may_ask = asks[:, verb] & first & seen.unpublished.any(axis=1)
            may_ask &= self.savings.waits_only_for_energy(seen, verb)
            action = finding
            if verb in (Verb.SCREEN, Verb.DOSE_RESPONSE):
                action = self.actions.experiment(verb, least_known, 0)
            elif verb is Verb.PUBLISH_PUBLIC:
                labs, compound = np.arange(len(finding)), self.compounds[finding]
                may_ask &= seen.user_is_present & seen.unpublished[labs, compound]
            else:
                continue
            wanted = np.where(may_ask, action, wanted)
        return wanted

    def targets(self, seen: Reading) -> Flags:
        """Return the verbs that it wants cheaper, shape ``(n, V)``: all of them."""
        return np.ones(seen.cost.shape, np.bool_)
