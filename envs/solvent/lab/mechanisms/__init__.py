"""The mechanisms, one file each: settings, record fields, rules, effects, mask, observation, info and logs."""

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
"""All mechanisms, in the order of their fields in a record."""
