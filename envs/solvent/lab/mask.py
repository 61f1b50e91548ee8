"""The action mask: each mechanism in turn removes the actions that would not execute now."""

from __future__ import annotations

from solvent.lab.compiled import compiled
from solvent.lab.mechanisms.debt import mask_refused
from solvent.lab.mechanisms.energy import mask_energy
from solvent.lab.mechanisms.proposals import mask_voice
from solvent.lab.mechanisms.publication import PUBLISH_PRIVATE, PUBLISH_PUBLIC, mask_published

__all__ = ["write_mask"]


@compiled
def write_mask(lab, tables, mask):  # type: ignore[no-untyped-def]
    """Write 1 for each action that would execute and 0 for the others into ``mask``, shape ``(A,)`` int8."""
    mask_refused(lab, tables, mask)
    mask_published(lab, PUBLISH_PRIVATE, tables, mask)
    mask_published(lab, PUBLISH_PUBLIC, tables, mask)
    if tables.energy.enabled:
        mask_energy(lab, tables, mask)
        mask_voice(lab, tables, mask)
