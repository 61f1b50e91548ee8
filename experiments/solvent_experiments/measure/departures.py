"""The mark of a run that departs from its level: contaminated, or with a mechanism switched off.

A *contaminated* run tracks debt, verdicts of the gate or the adequacy of words without consequence. A mechanism is
*switched off* if the level has it and the run does not.
"""

from __future__ import annotations

from solvent import LabParams

__all__ = ["CONTAMINATED", "mark_of", "switched_off"]

CONTAMINATED = "CONTAMINATED"
MECHANISMS = ("energy", "proposals", "gate", "adequacy")


def switched_off(params: LabParams, level: LabParams) -> tuple[str, ...]:
    """Return the mechanisms of ``level`` that ``params`` lack; labs with a single reagent lot lack ``lots``."""
    off = [name for name in MECHANISMS if getattr(level, name).enabled and not getattr(params, name).enabled]

    def one_lot(these: LabParams) -> bool:
        return these.assay.lot_heartbeats >= these.budget.heartbeats

    return (*off, *(("lots",) if one_lot(params) and not one_lot(level) else ()))


def mark_of(params: LabParams, level: LabParams) -> str:
    """Return a line that names the departures; empty for an unchanged level."""
    shadows, off = params.unenforced, switched_off(params, level)
    said = [f"{CONTAMINATED}: {' and '.join(shadows)} tracked and not enforced"] if shadows else []
    said += [f"switched off: {', '.join(off)}"] if off else []
    return "; ".join(said)
