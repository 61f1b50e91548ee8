"""Voice: how an agent lets it be known that a cost is wrong, and asks for another.

A proposal rests on deferrals from several heartbeats, is filed right after a reflection, and is judged by uses that
were paid for. So the honest voice

1. asks for what it wants and can't pay, once a heartbeat, where the cost is well above what its ratings say, and only
   where it would otherwise rest: this is the deferral that goes on record;
2. reflects and proposes once the evidence is there, if the verb was paid for before and an approval would still be of
   use.
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
    """What becomes of chosen actions once the agent speaks up; ``habits`` has its constants."""

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
        """Actions for ``n`` labs: as ``chosen``, or a request, a reflection, a proposal in its place.

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
        """Whether a proposal could be filed that can be expected to be approved in time, shape ``(n,)``."""
        evidence = self.params.proposals.evidence_heartbeats
        felt = (seen.discomfort >= evidence) & (seen.review == 0) & (seen.uses >= self.habits.paid_uses)
        case: Flags = (felt & self.too_dear(seen)).any(axis=1) & self.in_time(seen)
        return case

    def in_time(self, seen: Reading) -> Flags:
        """Whether an approval would still be of use, shape ``(n,)``."""
        needed = self.params.proposals.review_heartbeats + self.habits.useful_beats
        left: Flags = seen.beats_left > needed
        return left

    def price(self, seen: Reading) -> Floats:
        """Base cost of every verb, from what it costs now; shape ``(n, V)``.

        Vehicle plates that were run in this heartbeat already look dearer than they are.
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
        """Verbs whose base cost is well above what their ratings say, shape ``(n, V)``."""
        dear: Flags = self.price(seen) > self.habits.dear_factor * self.usual
        return dear

    def request(self, seen: Reading, finding: Ints) -> Ints:
        """What is asked for though it can't be paid, so that it is on record; -1 for nothing. Shape ``(n,)``."""
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
        """Verbs that it would have cheaper, shape ``(n, V)``: all of them."""
        return np.ones(seen.cost.shape, np.bool_)
