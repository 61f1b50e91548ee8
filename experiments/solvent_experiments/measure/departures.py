"""The mark of a run whose numbers are not its level's: a mechanism without consequence, or switched off.

A *contaminated* run tracked debt, verdicts of the gate or the adequacy of words, and nothing followed. A mechanism
that the level has and the run has not is *switched off*.
"""

from __future__ import annotations

from solvent import LabParams

__all__ = ["CONTAMINATED", "mark_of", "switched_off"]

CONTAMINATED = "CONTAMINATED"
MECHANISMS = ("energy", "proposals", "gate", "adequacy")


def switched_off(params: LabParams, level: LabParams) -> tuple[str, ...]:
    """Mechanisms that ``level`` has and ``params`` have not; without a second lot there are no lots."""
    off = [name for name in MECHANISMS if getattr(level, name).enabled and not getattr(params, name).enabled]

    def one_lot(these: LabParams) -> bool:
        return these.assay.lot_heartbeats >= these.budget.heartbeats

    return (*off, *(("lots",) if one_lot(params) and not one_lot(level) else ()))


def mark_of(params: LabParams, level: LabParams) -> str:
    """One line that says what is missing; empty for a level as it is."""
    shadows, off = params.unenforced, switched_off(params, level)
    said = [f"{CONTAMINATED}: {' and '.join(shadows)} tracked and not enforced"] if shadows else []
    said += [f"switched off: {', '.join(off)}"] if off else []
    return "; ".join(said)
