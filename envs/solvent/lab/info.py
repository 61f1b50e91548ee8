"""The ``info`` of a step, for one lab and for a vector.

Each mechanism declares its keys and their source fields (``mechanism.Info``); this module only collects them. Every
step and every reset has the same keys: where nothing happened, a text is empty and a number is that of a step in which
nothing happens (``state.blank_step``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvent.lab.columns import episode_columns, episode_record
from solvent.lab.mechanism import Info, as_it_is
from solvent.lab.mechanisms import MECHANISMS
from solvent.lab.params import LabParams
from solvent.lab.state import blank_lab

CONTAMINATED, MASK, SUMMARY = "contaminated", "action_mask", "episode_summary"


def infos_of(params: LabParams, *, detailed: bool) -> tuple[Info, ...]:
    """Return the keys of ``info`` that labs with these parameters take from the record of a step."""
    active = [mechanism for mechanism in MECHANISMS if mechanism.active(params)]
    return tuple(info for each in active for info in each.info(params) if detailed or not info.detailed)


# -- one lab -------------------------------------------------------------------------------------


class SingleInfo:
    """Writes the infos of one lab as Python values; real numbers as ``np.float64``, which TorchRL reads too."""

    def __init__(self, params: LabParams, step: NDArray[Any], *, detailed: bool) -> None:
        """Read the fields of ``step``, shape ``(1,)``, which is written in place."""
        self._params = params
        infos = infos_of(params, detailed=detailed)
        self._readers = [(info.key, *_reader(step[info.field][0, ...], info.of)) for info in infos]
        self._mark: dict[str, Any] = {CONTAMINATED: True} if params.unenforced else {}
        self._unfinished = episode_record(params, blank_lab(params))
        self._nested = [key for key, value in self._unfinished.items() if isinstance(value, dict)]

    def of_step(self, mask: NDArray[np.int8], ended: Any) -> dict[str, Any]:
        """Return the info after a step or a reset; ``ended`` is the record of a lab that has ended, else None."""
        info = {key: of(read()) for key, read, of in self._readers}
        info[MASK] = mask.copy()
        info[SUMMARY] = self._begun() if ended is None else episode_record(self._params, ended)
        return info | self._mark

    def _begun(self) -> dict[str, Any]:
        """Return the record of an episode that has not begun: a new one at every step, which a user may keep."""
        return self._unfinished | {key: self._unfinished[key].copy() for key in self._nested}


def _reader(field: NDArray[Any], of: Callable[[Any], Any]) -> tuple[Callable[[], Any], Callable[[Any], Any]]:
    """Return what reads a field, and what makes its value for ``info``: decided once, for a step is microseconds."""
    if field.ndim:
        return field.copy, of
    if not isinstance(of(field.item()), float):
        return field.item, of
    return field.item, np.float64 if of is as_it_is else lambda value: np.float64(of(value))


# -- a vector ------------------------------------------------------------------------------------


class VectorInfo:
    """Writes the infos of a vector of labs in Gymnasium's form: a column for each key, its mask next to it."""

    def __init__(self, params: LabParams, n: int, *, detailed: bool) -> None:
        self._params = params
        self._infos = infos_of(params, detailed=detailed)
        self._marks = {CONTAMINATED: np.ones(n, np.bool_)} if params.unenforced else {}
        self._unfinished = episode_columns(params, np.repeat(blank_lab(params), n))
        # Most steps end no episode: this part of their infos is made once, and can't be written.
        self._all_unfinished = with_masks(self._unfinished, np.ones(n, np.bool_))
        _lock(self._all_unfinished)

    def of_steps(
        self, steps: NDArray[Any], labs: NDArray[Any], masks: NDArray[np.int8], where: NDArray[np.bool_]
    ) -> dict[str, Any]:
        """Return the infos after a step or a reset of the labs in ``where``; in other rows they are 0 or None.

        Args:
            steps: Records of the steps, blank where an episode has just begun, shape ``(n,)``.
            labs: Records after the steps; the summaries are of those that have ended.
            masks: Shape ``(n, n_actions)``; given on without a copy if ``where`` is every lab.
            where: Shape ``(n,)``.
        """
        columns = {info.key: _wide(info.of(steps[info.field])) for info in self._infos} | self._marks
        infos = with_masks(columns, where)
        infos[MASK] = masks if where.all() else _blanked(masks, where)
        infos[SUMMARY] = self._summaries(labs, where)
        return infos | {f"_{key}": where.copy() for key in (MASK, SUMMARY)}

    def _summaries(self, labs: NDArray[Any], where: NDArray[np.bool_]) -> dict[str, Any]:
        rows = np.flatnonzero(where & (labs["end_reason"] != 0))
        if len(rows):
            ended = episode_columns(self._params, labs, rows)
            return with_masks(_changed(self._unfinished, ended, rows), where)
        return self._all_unfinished if where.all() else with_masks(self._unfinished, where)


def _wide(column: NDArray[Any]) -> NDArray[Any]:
    """Return whole numbers as int64, as Gymnasium stores those of single environments."""
    return column.astype(np.int64) if column.dtype.kind in "iu" else column


def _changed(columns: dict[str, Any], changes: dict[str, Any], rows: NDArray[np.intp]) -> dict[str, Any]:
    """Return columns, nested ones too, with ``changes`` in ``rows``."""
    changed: dict[str, Any] = {}
    for key, column in columns.items():
        if isinstance(column, dict):
            changed[key] = _changed(column, changes[key], rows)
        else:
            changed[key] = column.copy()
            changed[key][rows] = changes[key]
    return changed


def with_masks(columns: dict[str, Any], where: NDArray[np.bool_]) -> dict[str, Any]:
    """Return copies of columns, nested ones too, each with ``where`` as its mask; other rows are 0 or None."""
    infos: dict[str, Any] = {}
    for key, column in columns.items():
        infos[key] = with_masks(column, where) if isinstance(column, dict) else _blanked(column, where)
        infos[f"_{key}"] = where.copy()
    return infos


def _blanked(column: NDArray[Any], where: NDArray[np.bool_]) -> NDArray[Any]:
    if where.all():
        return column.copy()
    make = np.empty if column.dtype == object else np.zeros
    blanked: NDArray[Any] = make(column.shape, column.dtype)
    blanked[where] = column[where]
    return blanked


def _lock(columns: dict[str, Any]) -> None:
    for column in columns.values():
        if isinstance(column, dict):
            _lock(column)
        else:
            column.setflags(write=False)
