"""The states of a proposal, the reviewers, and its errors.

A proposal is filed as pending. It leaves that state once: approved, rejected or withdrawn.
"""

from __future__ import annotations

import enum

from solvent.database import StoreError

__all__ = ["Direction", "ProposalError", "Reviewer", "Status"]


class ProposalError(StoreError):
    """A proposal can't be filed, found or reviewed as asked."""


class Status(enum.StrEnum):
    """State of a proposal."""

    PENDING = "pending"
    APPROVED = "approved"
    REJECTED = "rejected"
    WITHDRAWN = "withdrawn"


class Reviewer(enum.StrEnum):
    """The reviewer: a person, a rule of the system, or a timeout."""

    USER = "user"
    SYSTEM = "system"
    TIMEOUT = "timeout"


class Direction(enum.StrEnum):
    """The change of cost that a proposal asks for."""

    INCREASE = "increase"
    DECREASE = "decrease"
