"""A mechanism's part in what is collected over all of them: record fields, infos, episode columns, logs.

``Mechanism`` names the part; ``state.py``, ``info.py``, ``columns.py`` and ``ledger.py`` go over the mechanisms in
order. Compiled parts (rules, effects, mask, observation) are plain functions of the same file, which ``dynamics.py``,
``mask.py`` and ``observation.py`` call in order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np

from solvent.lab.names import Names
from solvent.lab.settings import UNIT

__all__ = ["Column", "Field", "Info", "Log", "LogEvent", "Mechanism", "count", "energy", "number", "split"]


class Field(NamedTuple):
    """One field of a record: shape in the letters of ``state.py``, unit, meaning, and its value at the start."""

    name: str
    kind: str
    shape: str
    unit: str
    doc: str
    start: Any = 0  # a number, or a function of the parameters


class Info(NamedTuple):
    """One key of ``info``: the value of ``field``, told where the step's field ``when`` is not ``nothing``."""

    key: str
    field: str
    when: str
    nothing: Any = 0
    of: Callable[[Any], Any] = lambda value: value  # of one value, or of a vector's column
    detailed: bool = False  # only with ``detailed_info``, and then at every step


class Column(NamedTuple):
    """One column of an episode's record, of lab records ``labs[rows]``; nested where ``of`` gives a dictionary."""

    name: str
    unit: str
    of: Callable[[Callable[[str], Any]], Any]  # given a function from a field's name to its values


class LogEvent:
    """A line of a log: a frozen dataclass. Fields in ``MAYBE`` are left out where they are None."""

    MAYBE: ClassVar[tuple[str, ...]] = ()

    def to_dict(self) -> dict[str, Any]:
        """The fields in their order, ready for JSON."""
        return {
            name: value for name, value in vars(self).items() if value is not None or name not in self.MAYBE
        }


class Log(NamedTuple):
    """One kind of event of a log: in which file, in which steps, and the events of one step."""

    name: str
    file: str
    happened: Callable[[Any], Any]  # of step records, shape (n,): a flag each
    events: Callable[[Names, Any, Any, int | None], list[Any]]  # of a step and of the lab that it left


class Mechanism(NamedTuple):
    """What one mechanism contributes; ``active`` says for which parameters."""

    name: str
    active: Callable[[Any], bool]
    fields: tuple[Field, ...] = ()
    step_fields: tuple[Field, ...] = ()
    info: Callable[[Names], tuple[Info, ...]] = lambda _: ()
    columns: tuple[Column, ...] = ()
    logs: tuple[Log, ...] = ()


# -- columns


def number(name: str, unit: str = "bits", field: str = "") -> Column:
    """A field as it is."""
    return Column(name, unit, lambda of: of(field or name))


def count(name: str, unit: str, field: str = "") -> Column:
    """A field as whole numbers."""
    return Column(name, unit, lambda of: of(field or name).astype(np.int64))


def energy(name: str) -> Column:
    """A field in thousandths, in units of energy."""
    return Column(name, "energy", lambda of: of(name) / UNIT)


def split(name: str, unit: str, names: tuple[str, ...], field: str = "") -> Column:
    """A field of several counts, by name."""

    def of_each(of: Callable[[str], Any]) -> dict[str, Any]:
        values = of(field or name).astype(np.int64)
        return {key: values[:, i] for i, key in enumerate(names)}

    return Column(name, unit, of_each)
