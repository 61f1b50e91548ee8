"""An agent's own argument for a lower cost: which action, which range, and why.

    low < high < current cost,     low >= floor of the action

Source: *Action Cost: The Energy Model*, "Cost Change Proposals". The flat action ``propose`` has no room for words, so
an argument is given beforehand; ``mechanisms.proposals`` files it and reviews it like any other.

Known approximation: the reviewer reads the range and the evidence, and never the reason.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from solvent.lab.batch import tables_array
from solvent.lab.mechanisms.proposals import EVIDENCE_HEARTBEATS, FELT_VERBS, arguable
from solvent.lab.params import LabParams
from solvent.lab.settings import UNIT, in_thousandths
from solvent.lab.verbs import VERBS

__all__ = ["LONGEST_REASON", "Argument", "argue", "subjects", "withdraw"]

LONGEST_REASON = 500
"""Characters of a reason."""


class Argument(NamedTuple):
    """What an agent argues, as it gave it: the action, the range of costs that it asks for, and why."""

    target: Any
    low: Any
    high: Any
    reason: Any


def subjects(params: LabParams) -> list[str]:
    """Return the actions that a proposal can be about; none where the level has no proposals."""
    return [VERBS[verb].name for verb in FELT_VERBS] if params.proposals.enabled else []


def argue(params: LabParams, lab: Any, argument: Argument) -> None:
    """Write an argument into a lab's record, for the action ``propose`` that follows.

    Raises:
        ValueError: the target, the range or the reason can't be filed; the message says what is allowed.
    """
    known = subjects(params)
    if argument.target not in known:
        raise ValueError(f"target: got {argument.target!r:.60}; allowed: {', '.join(known) or 'none'}")
    verb, tables = FELT_VERBS[known.index(argument.target)], tables_array(params)[0]
    floor, price = float(tables["floor"][verb]) / UNIT, float(lab["price"][verb]) / UNIT
    for name, value in (("low", argument.low), ("high", argument.high)):
        if isinstance(value, bool) or not isinstance(value, int | float) or not np.isfinite(value):
            raise ValueError(f"{name}: got {value!r:.60}; allowed: a number")
    if not floor <= argument.low < argument.high < price:
        allowed = f"low below high, from the floor {floor:g} to less than the cost {price:g}"
        raise ValueError(f"range: got {argument.low:g} to {argument.high:g}; allowed: {allowed}")
    if not isinstance(argument.reason, str) or not 0 < len(argument.reason.strip()) <= LONGEST_REASON:
        raise ValueError(f"reason: allowed: your words, 1 to {LONGEST_REASON} characters")
    record = np.asarray(lab).view(np.recarray)
    if not arguable(record, int(verb), np.asarray(tables).view(np.recarray)):
        needed = f"{EVIDENCE_HEARTBEATS} hours or more in which it was put off, and no proposal under review"
        raise ValueError(f"target: {argument.target} can't be argued now; allowed: one with {needed}")
    lab["asked_verb"] = verb
    lab["asked_low"], lab["asked_high"] = in_thousandths(argument.low), in_thousandths(argument.high)


def withdraw(labs: Any) -> None:
    """Take back the arguments that no proposal has used, in records of any shape."""
    labs["asked_verb"], labs["asked_low"], labs["asked_high"] = -1, 0, 0
