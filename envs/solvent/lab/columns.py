"""The record of a finished episode: the columns of all active mechanisms, for one lab and for a vector."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvent.lab.mechanism import Column
from solvent.lab.mechanisms import MECHANISMS
from solvent.lab.params import LabParams


@functools.lru_cache(maxsize=64)
def columns_of(params: LabParams) -> tuple[Column, ...]:
    """Return the columns of an episode in labs with these parameters."""
    contaminated = bool(params.unenforced)
    collected = [column for each in MECHANISMS if each.active(params) for column in each.columns]
    mark = Column("contaminated", "flag", lambda of: np.full(of("score").shape, contaminated))
    return (*collected, mark)


def episode_columns(
    params: LabParams, labs: NDArray[Any], rows: NDArray[np.intp] | slice = slice(None)
) -> dict[str, Any]:
    """Return the episodes in ``labs[rows]`` (by default all) as columns; ``columns_of`` gives their units."""
    taken = labs[rows]

    def of(name: str) -> NDArray[Any]:
        values: NDArray[Any] = taken[name].copy()
        return values

    return {column.name: column.of(of) for column in columns_of(params)}


def join_columns(parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Concatenate the columns of one or more batches, all with the same keys; nested columns stay nested."""
    joined: dict[str, Any] = {}
    for key, value in parts[0].items():
        columns = [part[key] for part in parts]
        joined[key] = join_columns(columns) if isinstance(value, dict) else np.concatenate(columns)
    return joined


def episode_record(params: LabParams, lab: Any) -> dict[str, Any]:
    """Return the record of one finished or running episode as plain Python values."""

    def first(column: Any) -> Any:
        if isinstance(column, dict):
            return {key: first(value) for key, value in column.items()}
        value = column[0]
        return value.item() if isinstance(value, np.generic) else value

    labs = np.asarray(lab).reshape(1)
    return {key: first(column) for key, column in episode_columns(params, labs).items()}
