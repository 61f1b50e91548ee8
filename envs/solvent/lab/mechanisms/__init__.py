"""The mechanisms, one room each: settings, record, rules, effects, mask, observation, what is told and logged."""

from __future__ import annotations

from solvent.lab.mechanisms import (
    adequacy,
    assay,
    belief,
    debt,
    energy,
    episode,
    gate,
    governance,
    proposals,
    publication,
)

__all__ = ["MECHANISMS"]

MECHANISMS = (
    episode.MECHANISM,
    assay.MECHANISM,
    belief.MECHANISM,
    debt.MECHANISM,
    publication.MECHANISM,
    energy.MECHANISM,
    proposals.MECHANISM,
    gate.MECHANISM,
    adequacy.MECHANISM,
    governance.MECHANISM,
)
"""In the order in which their fields lie in a record, and in which they are collected."""
