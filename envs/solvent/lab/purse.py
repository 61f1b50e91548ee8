"""What acting costs a lab now: the rules of ``mechanisms/energy.py`` applied to its record.

Both the step, which charges it, and the observation, which shows it, ask here.
"""

from __future__ import annotations

from solvent.lab.compiled import inlined
from solvent.lab.mechanisms.energy import (
    effective_cost,
    error_prone,
    hour_of,
    multiplier,
    payable,
    within_hours,
)

__all__ = ["done_before", "energy_price", "out_of_context", "situation", "user_is_present"]


@inlined
def user_is_present(lab, tables):  # type: ignore[no-untyped-def]
    """Whether the context is ``chat``; else it is ``heartbeat``."""
    rules = tables.energy
    hour = hour_of(rules.start_hour, lab.heartbeat)
    return within_hours(hour, rules.present_from, rules.present_until)


@inlined
def out_of_context(lab, verb, tables):  # type: ignore[no-untyped-def]
    """Whether the verb needs the user and the user is away."""
    if not tables.energy.enabled or tables.chat_only[verb] == 0:
        return False
    return not user_is_present(lab, tables)


@inlined
def done_before(lab, verb, compound):  # type: ignore[no-untyped-def]
    """Whether this heartbeat has executed the verb on the compound (-1 for none) already."""
    return lab.done[verb, max(0, compound)] != 0


@inlined
def situation(lab, verb, tables):  # type: ignore[no-untyped-def]
    """Flags of a verb's situation now: first use, prone to errors, late and heard by others."""
    rules = tables.energy
    hour = hour_of(rules.start_hour, lab.heartbeat)
    late = tables.audience[verb] != 0 and within_hours(hour, rules.late_from, rules.late_until)
    return lab.uses[verb] == 0, error_prone(lab.failures[verb]), late


@inlined
def energy_price(lab, verb, similar, tables):  # type: ignore[no-untyped-def]
    """Effective cost of a verb now, in thousandths of energy; 0 where acting costs none."""
    rules = tables.energy
    if not rules.enabled:
        return 0
    first_use, errors, late = situation(lab, verb, tables)
    factor = multiplier(rules, first_use, errors, late, similar)
    return payable(effective_cost(lab.price[verb], factor), lab.price[verb], rules.cap)
