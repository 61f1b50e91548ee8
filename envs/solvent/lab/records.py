"""The records that a lab can step from: every field within its range, and what fields must agree on.

Each mechanism describes its fields, with bounds where they are special, and its conditions. A field's unit gives the
other bounds. A lab steps from a record that passes, and draws it, without an error, and its rewards and observations
stay finite and inside of their spaces. Play need not be able to reach it: the belief may be wrong about the truth, and
the books need not add up.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from solvent.lab.actions import action_table
from solvent.lab.codes import EndReason, Event
from solvent.lab.mechanism import MOST_BITS, Condition
from solvent.lab.mechanisms import MECHANISMS
from solvent.lab.mechanisms.adequacy import RULES
from solvent.lab.mechanisms.gate import MILLION
from solvent.lab.params import LabParams
from solvent.lab.settings import in_thousandths
from solvent.lab.state import lab_dtype, lab_fields
from solvent.lab.verbs import Verb
from solvent.lab.words.rows import STRENGTHS
from solvent.lab.words.sentences import corrections_of

__all__ = ["check_records"]


def _highest(params: LabParams) -> Mapping[str, float]:
    """Return the highest value of a field by its unit; whatever else an action counts, it counts once."""
    return {
        "Event": len(Event) - 1,
        "EndReason": len(EndReason) - 1,
        "RULES": len(RULES) - 1,
        "STRENGTHS": len(STRENGTHS) - 1,
        "Verb": len(Verb) - 1,
        "index": len(action_table(params)) - 1,
        "bin": params.assay.bins - 1,
        "class": params.assay.potency_classes - 1,
        "state": params.assay.instrument_states - 1,
        "correction": len(corrections_of(params)) - 1,
        "flag": 1,
        "probability": 1,
        "wells": params.budget.wells,
        "heartbeats": params.budget.heartbeats,
        "bits": MOST_BITS,
        "1/1000": in_thousandths(params.energy.cap),
        "1/1000000": MILLION,
    }


class _Range(NamedTuple):
    """The fields of one type: their places in a record seen as an array of that type, and their bounds."""

    kind: np.dtype[Any]
    places: NDArray[np.intp]
    low: NDArray[Any]
    high: NDArray[Any]
    fields: tuple[str, ...]  # of each place


@functools.lru_cache(maxsize=64)
def _ranges(params: LabParams) -> tuple[_Range, ...]:
    """Return the ranges of all fields. Few comparisons of long rows are many times faster than one for each field."""
    layout, by_unit = lab_dtype(params), _highest(params)
    most = params.budget.heartbeats * params.slots
    rows: dict[str, list[tuple[Any, ...]]] = {}
    for field in lab_fields(params):
        kind, offset = np.dtype(field.kind.replace("b1", "u1")), layout.fields[field.name][1]  # type: ignore[index]
        size = int(np.prod(layout[field.name].shape))
        start, low, high = (
            value(params) if callable(value) else value for value in (field.start, field.low, field.high)
        )
        low = min(0, np.min(start)) if low is None else low
        high = by_unit.get(field.unit, most) if high is None else high
        if kind.kind in "iu":
            high = min(high, np.iinfo(kind).max)
        first = offset // kind.itemsize
        rows.setdefault(kind.str, []).extend((first + place, low, high, field.name) for place in range(size))
    return tuple(
        _Range(
            np.dtype(kind),
            np.array([row[0] for row in found]),
            np.array([row[1] for row in found], kind),
            np.array([row[2] for row in found], kind),
            tuple(row[3] for row in found),
        )
        for kind, found in rows.items()
    )


@functools.lru_cache(maxsize=64)
def _conditions(params: LabParams) -> tuple[Condition, ...]:
    return tuple(
        condition
        for mechanism in MECHANISMS
        if mechanism.active(params)
        for condition in mechanism.conditions
    )


def check_records(params: LabParams, labs: NDArray[Any]) -> None:
    """Check that labs with these parameters can step from the records ``labs``, shape ``(n,)`` of ``lab_dtype``.

    Raises:
        ValueError: A field is out of range or contradicts others. The message is one line with the field, its value and
            the allowed values.
    """
    labs = np.ascontiguousarray(labs)
    for each in _ranges(params):
        values = labs.view(each.kind).reshape(len(labs), -1).take(each.places, axis=1)
        inside = (values >= each.low) & (values <= each.high)  # NaN is neither
        if not inside.all():
            lab, column = np.argwhere(~inside)[0]
            name, low, high = each.fields[column], each.low[column].item(), each.high[column].item()
            element = np.unravel_index(column - each.fields.index(name), (*labs[name].shape[1:], 1))[:-1]
            _fail(labs, name, (lab, *element), values[lab, column].item(), f"{low!r} to {high!r}")
    for condition in _conditions(params):
        holds = condition.holds(params, labs)
        if not np.all(holds):
            where = tuple(np.argwhere(~holds)[0].tolist())
            value = np.array2string(labs[condition.field][where], threshold=8, separator=", ")
            _fail(labs, condition.field, where, " ".join(value.split()), condition.allowed)


def _fail(labs: NDArray[Any], field: str, where: tuple[int, ...], got: Any, allowed: str) -> None:
    lab, *element = where
    of = f"[{lab}]" if len(labs) > 1 else ""
    place = f"[{', '.join(map(str, element))}]" if element else ""
    raise ValueError(f"state{of}: {field}{place}: got {got}; allowed: {allowed}")
