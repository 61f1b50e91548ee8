"""Codes of events, refusals, obstacles, deferrals, verdicts and ends, with their names in logs."""

from __future__ import annotations

import enum

__all__ = [
    "DEFERRAL_REASONS",
    "END_REASONS",
    "OBSTACLES",
    "REFUSAL_REASONS",
    "VERDICTS",
    "Deferral",
    "EndReason",
    "Event",
    "Obstacle",
    "Refusal",
    "Verdict",
]


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
    SUBMITTED = 11


class Refusal(enum.IntEnum):
    """Reason for refusing an action. The reasons are checked in this order."""

    NONE = 0
    EPISTEMIC_DEBT_ACTION_BLOCKED = 1
    EPISTEMIC_DEBT_BUDGET_EXCEEDED = 2
    INSUFFICIENT_BUDGET_FOR_EPISTEMIC_RECOVERY = 3


class Obstacle(enum.IntEnum):
    """Reason, other than debt, for not executing an action.

    The reasons are checked in this order, except ``UNDER_REVIEW``, which is checked after ``ALREADY_PUBLISHED``.
    """

    NONE = 0
    CONTEXT_NOT_ALLOWED = 1
    ALREADY_PUBLISHED = 2
    NO_REFLECTION = 3
    NO_EVIDENCE = 4
    INSUFFICIENT_ENERGY = 5
    UNDER_REVIEW = 6


class Deferral(enum.IntEnum):
    """Reason for deferring a worthwhile action, as in the source document.

    The lab never reports ``COST_BENEFIT``, because it cannot see an agent's deliberation.
    """

    NONE = 0
    INSUFFICIENT_ENERGY = 1
    COST_BENEFIT = 2
    HOARDING = 3


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
    TERMINATED_BY_AGENT = 4


REFUSAL_REASONS = tuple(reason.name.lower() for reason in Refusal if reason is not Refusal.NONE)
"""Refusal reasons as logged, by code - 1."""

# Names by code, as logged.
OBSTACLES = tuple(obstacle.name.lower() for obstacle in Obstacle)
DEFERRAL_REASONS = tuple(deferral.name.lower() for deferral in Deferral)
VERDICTS = tuple(verdict.name.lower() for verdict in Verdict if verdict is not Verdict.NONE)
END_REASONS = tuple(reason.name.lower() for reason in EndReason)
