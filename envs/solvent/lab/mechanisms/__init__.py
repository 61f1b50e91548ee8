"""The mechanisms, one file each: settings, record fields, rules, effects, observation and info."""

from __future__ import annotations

from solvent.lab.mechanisms import (
    adequacy,
    assay,
    belief,
    debt,
    energy,
    episode,
    gate,
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
)
"""All mechanisms, in the order of their fields in a record."""
