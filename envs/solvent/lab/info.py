"""The ``info`` of a step, for one lab and for a vector.

Each mechanism declares its keys, their source fields and when they are reported (``mechanism.Info``); this module
only collects them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvent.lab.mechanism import Info
from solvent.lab.mechanisms import MECHANISMS
from solvent.lab.params import LabParams

Infos = tuple[tuple[str, Any, tuple[Info, ...]], ...]
"""Keys of ``info`` by condition: the field to test, its value when nothing is reported, and the keys otherwise."""


def infos_of(params: LabParams, *, detailed: bool) -> Infos:
    """Return the ``info`` keys of labs with these parameters."""
    by_condition: dict[tuple[str, Any], list[Info]] = {}
    for mechanism in MECHANISMS:
        for info in mechanism.info(params) if mechanism.active(params) else ():
            if detailed or not info.detailed:
                by_condition.setdefault((info.when, info.nothing), []).append(info)
    return tuple((when, nothing, tuple(infos)) for (when, nothing), infos in by_condition.items())


Readers = tuple[
    tuple[Callable[[], Any], Any, tuple[tuple[str, Callable[[], Any], Callable[[Any], Any]], ...]], ...
]
"""``Infos`` of one lab, with functions that read a field in place of its name."""


def readers_of(infos: Infos, step: NDArray[Any]) -> Readers:
    """Return ``infos`` with what reads their fields from a step record, shape ``(1,)``, that is written in place."""

    def reader(field: str) -> Callable[[], Any]:
        value = step[field][0, ...]
        return value.copy if value.ndim else value.item

    return tuple(
        (reader(when), nothing, tuple((info.key, reader(info.field), info.of) for info in each))
        for when, nothing, each in infos
    )


def told(readers: Readers) -> dict[str, Any]:
    """Return the info of one step as Python values; real numbers as ``np.float64``, which TorchRL reads too."""
    told: dict[str, Any] = {}
    for when, nothing, each in readers:
        if when() != nothing:
            for key, read, of in each:
                value = of(read())
                value = value.item() if isinstance(value, np.generic) else value
                told[key] = np.float64(value) if isinstance(value, float) else value
    return told


def told_of_each(infos: Infos, steps: NDArray[Any], where: NDArray[np.bool_]) -> dict[str, Any]:
    """Return the infos of step records, shape ``(n,)``, in Gymnasium's vector form.

    Only the labs in ``where`` took a step. A key is present if it applies to at least one of them, with its mask
    beside it.
    """
    columns: dict[str, Any] = {}
    for when, nothing, each in infos:
        happened = where & (steps[when] != nothing)
        rows = np.flatnonzero(happened)
        if not len(rows):
            continue
        for info in each:
            columns[info.key] = spread(info.of(steps[info.field][rows]), rows, len(steps))
            columns[f"_{info.key}"] = happened
    return columns


def spread(values: NDArray[Any], rows: NDArray[np.intp], n: int) -> NDArray[Any]:
    """Return an array of ``n`` rows with ``values`` in ``rows``, elsewhere 0, or None for objects."""
    if len(rows) == n:
        return values
    kind = np.empty if values.dtype == object else np.zeros
    column: NDArray[Any] = kind((n, *values.shape[1:]), values.dtype)
    column[rows] = values
    return column
