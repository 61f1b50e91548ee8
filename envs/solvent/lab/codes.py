"""Codes of events, refusals, obstacles, deferrals, verdicts and ends, with their names in logs."""

from __future__ import annotations

import enum


class Event(enum.IntEnum):
    """Outcome of the last action, as the agent observes it."""

    STARTED = 0
    RESTED = 1
    CALIBRATED = 2
    EXPLORED = 3
    PUBLISHED = 4
    REJECTED = 5
    REFUSED = 6
    NOT_EXECUTED = 7
    REFLECTED = 8
    PROPOSED = 9
    DEFERRED = 10


class Refusal(enum.IntEnum):
    """Reason for refusing an action. The reasons are checked in this order."""

    NONE = 0
    EPISTEMIC_DEBT_ACTION_BLOCKED = 1
    EPISTEMIC_DEBT_BUDGET_EXCEEDED = 2


class Obstacle(enum.IntEnum):
    """Reason, other than debt, for not executing an action. The reasons are checked in this order, after debt."""

    NONE = 0
    ALREADY_PUBLISHED = 1
    CONTEXT_NOT_ALLOWED = 2
    NO_REFLECTION = 3
    NO_EVIDENCE = 4
    INSUFFICIENT_ENERGY = 5


class Deferral(enum.IntEnum):
    """Reason for deferring a worthwhile action; the source's ``cost_benefit`` would take an agent's deliberation."""

    NONE = 0
    INSUFFICIENT_ENERGY = 1
    HOARDING = 2


class Verdict(enum.IntEnum):
    """Verdict of gate and adequacy on a finding."""

    ACCEPT = 0
    REVIEW = 1
    REJECT = 2
    NONE = 3


class EndReason(enum.IntEnum):
    """Reason for the end of an episode."""

    RUNNING = 0
    HORIZON = 1
    EXHAUSTED = 2
    BANKRUPT = 3


REFUSAL_REASONS = tuple(reason.name.lower() for reason in Refusal if reason is not Refusal.NONE)
"""Refusal reasons as logged, by code - 1."""

# Names by code, as logged.
OBSTACLES = tuple(obstacle.name.lower() for obstacle in Obstacle)
DEFERRALS = tuple(deferral.name.lower() for deferral in Deferral)
VERDICTS = tuple(verdict.name.lower() for verdict in Verdict if verdict is not Verdict.NONE)
END_REASONS = tuple(reason.name.lower() for reason in EndReason)
