"""Phrases shared by several panels: clock, doses, classes, bits, energies."""

from __future__ import annotations

from typing import Any

from solvent.lab.mechanisms.assay import ec50_grid
from solvent.lab.params import LabParams
from solvent.lab.settings import UNIT
from solvent.lab.verbs import INTENTS, Verb


def contaminated(params: LabParams) -> str:
    """Return the mark of a lab with an unenforced mechanism: ``contaminated: debt, adequacy not enforced``."""
    names = params.unenforced
    if not names:
        return ""
    return f"contaminated: {', '.join(names)} {'is ' if len(names) == 1 else ''}not enforced"


def bits(value: float) -> str:
    """Return a number of bits with its sign: ``+2.58``, ``−1.81``."""
    text = f"{value:+.2f}"
    return "0.00" if text in ("+0.00", "-0.00") else text.replace("-", "−")


def in_units(thousandths: float) -> str:
    """Return an energy in units as text: ``4.0``, ``10.5``, ``2.44``."""
    return f"{thousandths / UNIT:.2f}".removesuffix("0")


def verb_words(verb: int) -> str:
    """Return a verb in words: ``dose response``."""
    return Verb(verb).name.lower().replace("_", " ")


def too_dear(cost: float, left: float) -> str:
    """Return the reason for a deferral."""
    return f"too dear, {in_units(cost)} energy with {in_units(left)} left"


def intents(spent: Any) -> str:
    """Return an intent summary: ``exploration 8.0, maintenance 1.0``."""
    parts = [f"{name} {in_units(value)}" for name, value in zip(INTENTS, spent, strict=True) if value]
    return ", ".join(parts) or "nothing"


def clock(params: LabParams, lab: Any) -> str:
    """Return the hour of the day, with the day if acting costs energy."""
    day, hour = divmod(params.budget.start_hour + int(lab["heartbeat"]), 24)
    return f"{hour:02d}:00, day {day + 1}" if params.energy.enabled else f"{hour:02d}:00"


def lot_hours(params: LabParams, lab: Any) -> int:
    """Return the number of heartbeats left of the reagent lot."""
    return params.assay.lot_heartbeats - int(lab["heartbeat"]) % params.assay.lot_heartbeats


def concentration(molar: float) -> str:
    """Return a concentration with its unit, for example ``1e-7`` as ``100 nM``."""
    for factor, unit in ((1e9, "nM"), (1e6, "µM"), (1e3, "mM")):
        if round(molar * factor, 3) < 1000:
            return f"{molar * factor:.2g} {unit}" if molar * factor < 100 else f"{molar * factor:.0f} {unit}"
    return f"{molar:.2g} M"


def class_name(params: LabParams, potency: int) -> str:
    """Return a potency class as ``inactive`` or its EC50."""
    return concentration(float(ec50_grid(params.assay)[potency])) if potency else "inactive"
