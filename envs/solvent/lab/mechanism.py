"""The parts that a mechanism contributes: settings, record fields, observation, info keys and episode columns.

``state.py``, ``tables.py``, ``observation.py``, ``info.py`` and ``columns.py`` collect the parts of all ``Mechanism``
objects. The compiled parts (rules, effects, observation) are plain functions of the same file; ``dynamics.py`` calls
them in order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from solvent.lab.settings import UNIT


class Field(NamedTuple):
    """A field of a record.

    Attributes:
        kind: Type of its numbers, as NumPy writes it.
        shape: In the letters of ``state.py``; empty for one number.
        start: Its value when an episode begins: a number, or a function of the parameters.
        hidden: What an agent that reads records finds in its place; None if the agent may see it.
        project: It is known about a compound, and a new project sets it to its start again.
        derived: The future of the lab doesn't depend on it beyond the other fields: a tally, or computed from them.
    """

    name: str
    kind: str
    shape: str
    unit: str
    doc: str
    start: Any = 0
    hidden: int | None = None
    project: bool = False
    derived: bool = False


def derived(*fields: Field) -> tuple[Field, ...]:
    """Return fields on which the future of a lab doesn't depend beyond its other fields."""
    return tuple(field._replace(derived=True) for field in fields)


def as_it_is(value: Any) -> Any:
    """Return the value of a field unchanged."""
    return value


def copy_fields(lab: Any, record: Any) -> None:
    """Copy every field of ``record``, arrays all, into the field of that name of ``lab``; compiled by ``jit.py``."""
    for name in record.dtype.names:
        lab[name] = record[name]


class Info(NamedTuple):
    """A key of ``info``: ``of(field)`` of the step's record."""

    key: str
    field: str
    of: Callable[[Any], Any] = as_it_is  # takes a scalar or a vector's column
    detailed: bool = False  # reported only with ``detailed_info``


class Column(NamedTuple):
    """A column of the episode record; nested if ``of`` returns a dictionary."""

    name: str
    unit: str
    of: Callable[[Callable[[str], Any]], Any]  # takes a function from field name to values


class Mechanism(NamedTuple):
    """The parts of one mechanism; ``active`` takes the parameters and returns whether it runs."""

    name: str
    active: Callable[[Any], bool] = lambda _: True
    rules: Callable[[Any], Any] | None = None  # its settings as a record of numbers, for compiled code
    fields: tuple[Field, ...] = ()
    step_fields: tuple[Field, ...] = ()
    observed: Callable[[Any], tuple[str, ...]] = lambda _: ()  # names of the elements that it observes
    info: Callable[[Any], tuple[Info, ...]] = lambda _: ()
    columns: tuple[Column, ...] = ()


def detail(name: str, of: Callable[[Any], Any] = as_it_is) -> Info:
    """Return a key for a field, reported only with ``detailed_info``."""
    return Info(name, name, of, detailed=True)


def columns(fields: tuple[Field, ...], *names: str) -> tuple[Column, ...]:
    """Return a column for each named field: integers as int64, energy in units instead of thousandths."""

    def column(field: Field) -> Column:
        if field.unit == "1/1000":
            return Column(field.name, "energy", lambda of: of(field.name) / UNIT)
        kind = np.float64 if field.kind == "f8" else np.int64
        return Column(field.name, field.unit, lambda of: of(field.name).astype(kind))

    named = {field.name: field for field in fields}
    return tuple(column(named[name]) for name in names)


def split(name: str, unit: str, names: tuple[str, ...], field: str = "") -> Column:
    """Return a nested column with one entry per count in the field."""

    def of_each(of: Callable[[str], Any]) -> dict[str, Any]:
        values = of(field or name).astype(np.int64)
        return {key: values[:, i] for i, key in enumerate(names)}

    return Column(name, unit, of_each)
