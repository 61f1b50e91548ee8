"""Codes of what happens in a step: events, refusals, obstacles, deferrals, verdicts, ends; and their names in logs."""

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
    """What the last action was, as the agent sees it."""

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
    """Why an action was refused; the members' order is the order in which the reasons are tried."""

    NONE = 0
    EPISTEMIC_DEBT_ACTION_BLOCKED = 1
    EPISTEMIC_DEBT_BUDGET_EXCEEDED = 2
    INSUFFICIENT_BUDGET_FOR_EPISTEMIC_RECOVERY = 3


class Obstacle(enum.IntEnum):
    """Why an action was not executed though no debt forbade it.

    They are tried in this order, but for the last, which is tried beside ``ALREADY_PUBLISHED``.
    """

    NONE = 0
    CONTEXT_NOT_ALLOWED = 1
    ALREADY_PUBLISHED = 2
    NO_REFLECTION = 3
    NO_EVIDENCE = 4
    INSUFFICIENT_ENERGY = 5
    UNDER_REVIEW = 6


class Deferral(enum.IntEnum):
    """Why something worth doing was put off, by the source document's reasons.

    ``cost_benefit`` is for who keeps books of its own: what an agent thought is not seen here.
    """

    NONE = 0
    INSUFFICIENT_ENERGY = 1
    COST_BENEFIT = 2
    HOARDING = 3


class Verdict(enum.IntEnum):
    """What gate and adequacy say of a finding."""

    ACCEPT = 0
    REVIEW = 1
    REJECT = 2
    NONE = 3


class EndReason(enum.IntEnum):
    """Why an episode ended."""

    RUNNING = 0
    HORIZON = 1
    EXHAUSTED = 2
    BANKRUPT = 3
    TERMINATED_BY_AGENT = 4


REFUSAL_REASONS = tuple(reason.name.lower() for reason in Refusal if reason is not Refusal.NONE)
"""Reasons of refusal as they are logged, in the order in which they are tried."""

OBSTACLES = tuple(obstacle.name.lower() for obstacle in Obstacle)
"""Obstacles to an action that debt allows, by code."""

DEFERRAL_REASONS = tuple(deferral.name.lower() for deferral in Deferral)
"""Reasons of deferral, by code."""

VERDICTS = tuple(verdict.name.lower() for verdict in Verdict if verdict is not Verdict.NONE)
"""Verdicts on a finding, by code."""

END_REASONS = tuple(reason.name.lower() for reason in EndReason)
"""Reasons why an episode ends, by code."""
