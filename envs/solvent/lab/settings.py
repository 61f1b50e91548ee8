"""Settings of a lab: defaults with unit, range and source, and errors that name the allowed values.

Groups of settings are frozen and hashable; lists become tuples. ``numbers`` packs a group into the record that
compiled code reads.
"""

from __future__ import annotations

import dataclasses
import difflib
import math
import operator
import types
import typing
from collections.abc import Mapping
from typing import Any

import numpy as np

UNIT = 1000
"""Thousandths in a unit of energy. The lab counts energy in integers, so sums are exact in any order."""


class ParamError(ValueError):
    """An invalid parameter. The message is one line with its name, its value and the allowed values."""

    def __init__(self, path: str, problem: str) -> None:
        self.path = path
        self.problem = problem
        super().__init__(f"{path}: {problem}" if path else problem)

    def __reduce__(self) -> tuple[type[ParamError], tuple[str, str]]:
        return type(self), (self.path, self.problem)


def setting(
    default: Any,
    *,
    unit: str,
    doc: str,
    low: float = -math.inf,
    high: float = math.inf,
    above: float = -math.inf,
    choices: tuple[str, ...] = (),
    source: str = "measured",
) -> Any:
    """Return a dataclass field for one setting; ``low`` and ``high`` are inclusive bounds, ``above`` is exclusive."""
    metadata = {
        "unit": unit,
        "doc": doc,
        "low": low,
        "high": high,
        "above": above,
        "choices": choices,
        "source": source,
        "may_be_empty": default == (),
    }
    return dataclasses.field(default=default, metadata=metadata)


def switch(default: bool, *, doc: str, source: str = "measured") -> Any:
    """Return a dataclass field for a setting that is on or off."""
    return setting(default, unit="switch", doc=doc, source=source)


FACTOR: dict[str, Any] = {"unit": "1", "low": 1.0, "high": 10.0}
PROBABILITY: dict[str, Any] = {"unit": "probability", "low": 0.0, "high": 1.0}
"""What settings of one kind have in common."""


def _allowed(metadata: Mapping[str, Any]) -> str:
    if metadata["choices"]:
        return "one of " + ", ".join(metadata["choices"])
    low, high, above = metadata["low"], metadata["high"], metadata["above"]
    parts = []
    if above > -math.inf:
        parts.append(f"above {above:g}")
    if low > -math.inf:
        parts.append(f"at least {low:g}")
    if high < math.inf:
        parts.append(f"at most {high:.7g}")
    return "a finite number" + (", " + " and ".join(parts) if parts else "")


def _check_value(path: str, value: Any, metadata: Mapping[str, Any]) -> None:
    if isinstance(value, tuple):
        if not value and not metadata["may_be_empty"]:
            raise ParamError(path, "got an empty list; allowed: at least one value")
        for item in value:
            _check_value(path, item, metadata)
    allowed = True
    if isinstance(value, str) and metadata["choices"]:
        allowed = value in metadata["choices"]
    elif isinstance(value, int | float) and not isinstance(value, bool):
        inside = metadata["low"] <= value <= metadata["high"] and value > metadata["above"]
        allowed = inside and math.isfinite(value)
    if not allowed:
        raise ParamError(path, f"got {value!r}; allowed: {_allowed(metadata)}")


class ParamGroup:
    """A frozen dataclass whose fields are settings or further groups."""

    def __post_init__(self) -> None:
        hints = _type_hints(type(self))
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if field.metadata:
                value = _convert(field.name, value, hints[field.name], None)
                _check_value(field.name, value, field.metadata)
                object.__setattr__(self, field.name, value)  # converted: a list is now a tuple
            elif not isinstance(value, hints[field.name]):
                raise ParamError(field.name, f"got {value!r}; allowed: {hints[field.name].__name__}")

    def check(self, name: str, holds: bool, allowed: str) -> None:
        """Raise a ``ParamError`` with the value of the setting ``name`` and what is allowed, unless ``holds``."""
        if not holds:
            value = operator.attrgetter(name)(self)
            raise ParamError(name, f"got {value!r}; allowed: {allowed}")

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Any], *, base: Any = None, path: str = "") -> Any:
        """Return ``base`` (by default the defaults) with the changes in ``mapping``.

        Raises:
            ParamError: A key is unknown, or a value has the wrong type or is out of range.
        """
        if not isinstance(mapping, Mapping):
            raise ParamError(path, f"got {mapping!r}; allowed: a mapping of settings")
        hints, base = _type_hints(cls), cls() if base is None else base
        changes: dict[str, Any] = {}
        for key, value in mapping.items():
            where = f"{path}.{key}" if path else str(key)
            if key not in hints:
                raise ParamError(where, "unknown key" + nearest(str(key), hints))
            changes[key] = _convert(where, value, hints[key], getattr(base, key))
        try:
            return dataclasses.replace(base, **changes)
        except ParamError as error:
            where = f"{path}.{error.path}" if path and error.path else path or error.path
            raise ParamError(where, error.problem) from None

    def to_mapping(self) -> dict[str, Any]:
        """Return the settings as nested dictionaries and lists, ready for YAML."""

        def plain(value: Any) -> Any:
            if isinstance(value, ParamGroup):
                return value.to_mapping()
            return list(value) if isinstance(value, tuple) else value

        return {f.name: plain(getattr(self, f.name)) for f in dataclasses.fields(self)}  # type: ignore[arg-type]


def _type_hints(cls: type) -> dict[str, Any]:
    hints = typing.get_type_hints(cls)
    return {f.name: hints[f.name] for f in dataclasses.fields(cls)}


def nearest(key: str, known: typing.Iterable[str]) -> str:
    """Return ``; did you mean 'x'?`` for a misspelt key, or a list of the valid ones."""
    names = sorted(known)
    close = difflib.get_close_matches(key, names, n=1, cutoff=0.5)
    return f"; did you mean {close[0]!r}?" if close else f"; allowed: {', '.join(names)}"


def _convert(path: str, value: Any, hint: Any, current: Any) -> Any:
    """Return ``value`` converted to the annotated type ``hint``; NumPy's numbers and arrays are what they hold."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(hint, types.UnionType):
        if value is None:
            return None
        hint = next(h for h in typing.get_args(hint) if h is not type(None))
    if isinstance(hint, type) and issubclass(hint, ParamGroup):
        return hint.from_mapping(value, base=current, path=path)
    if typing.get_origin(hint) is tuple:
        (item, _) = typing.get_args(hint)
        if not isinstance(value, list | tuple):
            raise ParamError(path, f"got {value!r}; allowed: a list")
        return tuple(_convert(f"{path}[{i}]", v, item, None) for i, v in enumerate(value))
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if hint is int and number and (isinstance(value, int) or value.is_integer()):
        return int(value)
    if hint is float and number:
        try:
            return float(value)
        except OverflowError:
            raise ParamError(path, "got a whole number beyond floating point; allowed: a number") from None
    if hint in (bool, str) and isinstance(value, hint):
        return value
    names = {float: "a number", int: "a whole number", bool: "true or false", str: "a text"}
    raise ParamError(path, f"got {value!r}; allowed: {names[hint]}")


def in_thousandths(energy: float) -> int:
    """Return ``energy`` in thousandths, rounded to the nearest integer."""
    return round(energy * UNIT)


def numbers(group: ParamGroup, **derived: Any) -> Any:
    """Return the settings of ``group`` and the ``derived`` values as a read-only record.

    A choice becomes its index, energy becomes thousandths, and None becomes infinity. The switch ``enabled`` is a
    Boolean if it is on and an integer if not: compiled code sees it in the type. Lists, free text and nested groups are
    left out.
    """
    values: dict[str, Any] = {}
    for field in dataclasses.fields(group):  # type: ignore[arg-type]
        value, about = getattr(group, field.name), field.metadata
        if not about or isinstance(value, tuple):
            continue
        if field.name == "enabled":
            values[field.name] = np.bool_(True) if value else np.uint8(False)
        elif value is None:
            values[field.name] = math.inf
        elif about["choices"]:
            values[field.name] = about["choices"].index(value)
        elif about["unit"] == "energy":
            values[field.name] = in_thousandths(value)
        elif not isinstance(value, str):
            values[field.name] = value
    return record(values | derived)


def record(values: Mapping[str, Any]) -> Any:
    """Return numbers, arrays and nested records as one read-only record.

    Compiled code receives a record as a single pointer, and its type fixes the array shapes, so short loops are
    unrolled. A tuple of arrays would be copied at every call, with a reference count for each array.
    """
    parts = {name: np.asarray(value) for name, value in values.items()}
    layout = np.dtype([(name, _aligned(part.dtype), part.shape) for name, part in parts.items()], align=True)
    packed = np.zeros((), layout)
    for name, part in parts.items():
        packed[name] = part
    packed.setflags(write=False)
    return packed.view(np.recarray)[()]


def _aligned(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return ``dtype`` with the alignment that ``np.record`` drops."""
    if dtype.fields is None:
        return dtype
    kinds, offsets = zip(*((field[0], field[1]) for field in dtype.fields.values()), strict=True)
    layout = {"names": list(dtype.fields), "formats": kinds, "offsets": offsets, "itemsize": dtype.itemsize}
    return np.dtype(layout, align=True)  # type: ignore[call-overload,no-any-return]
