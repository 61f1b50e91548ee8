"""The states of a proposal, the roles in its review, and the errors of the store.

A proposal is filed as pending and leaves that state once, to approved, rejected or withdrawn.
"""

from __future__ import annotations

import enum

__all__ = ["Direction", "ProposalError", "Reviewer", "Status", "StoreError"]


class StoreError(ValueError):
    """The store can't be used, or refuses. The message is one line: what, where, what is allowed."""


class ProposalError(StoreError):
    """A proposal that can't be filed, found or reviewed as asked."""


class Status(enum.StrEnum):
    """State of a proposal."""

    PENDING = "pending"
    APPROVED = "approved"
    REJECTED = "rejected"
    WITHDRAWN = "withdrawn"


class Reviewer(enum.StrEnum):
    """Who ended a review: a person, a rule of the system, or nobody in time."""

    USER = "user"
    SYSTEM = "system"
    TIMEOUT = "timeout"


class Direction(enum.StrEnum):
    """Direction in which a proposal asks the cost to go."""

    INCREASE = "increase"
    DECREASE = "decrease"
