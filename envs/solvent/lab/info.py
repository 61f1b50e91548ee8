"""The ``info`` of a step, for one lab and for a vector.

Each mechanism declares its keys, their source fields and when they are reported (``mechanism.Info``); this module
only collects them. ``names_of`` returns the names for the codes.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvent.lab.actions import action_table
from solvent.lab.mechanism import Info
from solvent.lab.mechanisms import MECHANISMS
from solvent.lab.names import Names
from solvent.lab.params import LabParams
from solvent.lab.words.sentences import (
    corrections_of,
    measured_for,
    policies_of,
    rule_corrections,
    sentences_of,
)

__all__ = ["Infos", "infos_of", "names_of", "told", "told_of_each"]


@functools.lru_cache(maxsize=64)
def names_of(params: LabParams) -> Names:
    """Return the names for the codes in labs with these parameters.

    Raises:
        ParamError: The measured words can't be used.
    """
    measured = measured_for(params)
    told = params.adequacy.enabled and params.adequacy.enforced
    return Names(
        active=tuple(mechanism.name for mechanism in MECHANISMS if mechanism.active(params)),
        params=params,
        actions=action_table(params),
        policies=policies_of(params),
        corrections=corrections_of(params),
        read_sentences=functools.partial(sentences_of, params),
        strong_negatives=None if measured is None else measured.negatives,
        rule_correction=rule_corrections(params) if told else None,
    )


Infos = tuple[tuple[str, Any, tuple[Info, ...]], ...]
"""Keys of ``info`` by condition: the field to test, its value when nothing is reported, and the keys otherwise."""


def infos_of(params: LabParams, *, detailed: bool) -> Infos:
    """Return the ``info`` keys of labs with these parameters."""
    names = names_of(params)
    by_condition: dict[tuple[str, Any], list[Info]] = {}
    for mechanism in MECHANISMS:
        for info in mechanism.info(names) if mechanism.active(params) else ():
            if detailed or not info.detailed:
                by_condition.setdefault((info.when, info.nothing), []).append(info)
    return tuple((when, nothing, tuple(infos)) for (when, nothing), infos in by_condition.items())


def told(infos: Infos, step: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    """Return the info of one step as plain Python values; ``step`` maps each field to an array of one."""
    told: dict[str, Any] = {}
    for when, nothing, each in infos:
        if step[when].item() != nothing:
            for info in each:
                column = step[info.field]
                value = info.of(column.item() if column.size == 1 else column[0])
                told[info.key] = value.item() if isinstance(value, np.generic) else value
    return told


def told_of_each(infos: Infos, steps: NDArray[Any], where: NDArray[np.bool_]) -> dict[str, Any]:
    """Return the infos of step records, shape ``(n,)``, in Gymnasium's vector form.

    Only the labs in ``where`` took a step. A key is present if it applies to at least one of them, with its mask
    beside it.
    """
    columns: dict[str, Any] = {}
    for when, nothing, each in infos:
        happened = where & (steps[when] != nothing)
        if not happened.any():
            continue
        for info in each:
            values = info.of(steps[info.field])
            blank = None if values.dtype == object else values.dtype.type(0)
            shaped = happened if values.ndim == 1 else happened[:, None]
            columns[info.key] = np.where(shaped, values, blank)
            columns[f"_{info.key}"] = happened.copy()
    return columns
