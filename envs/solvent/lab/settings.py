"""Settings of a lab: defaults with unit, range and source, and errors that name the allowed values.

Groups of settings are frozen models of pydantic. ``numbers`` packs a group into the record that compiled code reads.
"""

from __future__ import annotations

import difflib
import functools
import math
import operator
from collections.abc import Iterable, Mapping
from typing import Any, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from solvent.errors import SolventError

UNIT = 1000
"""Thousandths in a unit of energy. The lab counts energy in integers, so sums are exact in any order."""


class ParamError(SolventError, ValueError):
    """An invalid parameter. The message is one line with its name, its value and the allowed values."""

    def __init__(self, path: str, problem: str) -> None:
        self.path = path
        self.problem = problem
        super().__init__(f"{path}: {problem}" if path else problem)

    def __reduce__(self) -> tuple[type[ParamError], tuple[str, str]]:
        return type(self), (self.path, self.problem)


def setting(default: Any, unit: str, doc: str, *, source: str = "measured", **limits: Any) -> Any:
    """Return a field for one setting; ``limits`` are those of ``pydantic.Field``.

    The default ``...`` is none; a function makes it from the settings above it.
    """
    extra: Any = {"unit": unit, "source": source}
    if callable(default):
        return Field(default_factory=default, description=doc, json_schema_extra=extra, **limits)
    return Field(default, description=doc, json_schema_extra=extra, **limits)


class ParamGroup(BaseModel):
    """Settings and further groups of settings: frozen, hashable, and valid or never made."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**{name: native(value) for name, value in values.items()})
        except ValidationError as error:
            raise _param_error(type(self), error) from None

    def check(self, name: str, holds: bool, allowed: str) -> None:
        """Raise a ``ParamError`` with the value of the setting ``name`` and what is allowed, unless ``holds``."""
        if not holds:
            value = operator.attrgetter(name)(self)
            raise ParamError(name, f"got {value!r}; allowed: {allowed}")

    def replace(self, **changes: Any) -> Self:
        """Return a group with other values of some settings.

        Raises:
            ParamError: A name is unknown, or a value has the wrong type or is out of range.
        """
        given = {name: getattr(self, name) for name in self.model_fields_set}
        return type(self)(**{**given, **changes})

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Any], *, base: Self | None = None, path: str = "") -> Self:
        """Return ``base`` (by default the defaults) with the changes in ``mapping``.

        Raises:
            ParamError: A key is unknown, or a value has the wrong type or is out of range.
        """
        if not isinstance(mapping, Mapping):
            raise ParamError(path, f"got {mapping!r}; allowed: {GROUP}")
        base = cls() if base is None else base
        changes: dict[str, Any] = {}
        for key, value in mapping.items():
            current = getattr(base, key) if key in cls.model_fields else None
            if isinstance(current, ParamGroup) and isinstance(value, Mapping):
                changes[key] = current.from_mapping(value, base=current, path=_joined(path, key))
            else:
                changes[str(key)] = value
        try:
            return base.replace(**changes)
        except ParamError as error:
            raise ParamError(_joined(path, error.path), error.problem) from None

    def to_mapping(self) -> dict[str, Any]:
        """Return the settings as nested dictionaries and lists, ready for YAML."""
        return self.model_dump(mode="json")

    @classmethod
    @functools.cache
    def about(cls) -> dict[str, dict[str, Any]]:
        """Return the JSON Schema of each setting, with its unit and source."""
        properties: dict[str, dict[str, Any]] = cls.model_json_schema()["properties"]
        return properties


def native(value: Any) -> Any:
    """Return NumPy's numbers and arrays as what they hold, lists as tuples and whole numbers as integers."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return tuple(map(native, value))
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _param_error(group: type[ParamGroup], error: ValidationError) -> ParamError:
    """Return the first error of a validation as one line."""
    first = error.errors(include_url=False)[0]
    cause = first.get("ctx", {}).get("error")
    if isinstance(cause, ParamError):  # of a group inside, or of two settings that don't agree
        return ParamError(_joined(*first["loc"], cause.path), cause.problem)
    name, *place = first["loc"]
    if name not in group.model_fields:
        return ParamError(str(name), "unknown key" + nearest(str(name), group.model_fields))
    about, where = group.about()[str(name)], str(name)
    if place:  # in a list
        about, where = about.get("anyOf", [about])[0]["items"], f"{name}[{place[0]}]"
    got = "nothing" if first["type"] == "missing" else f"{first['input']!r:.80}"
    return ParamError(where, f"got {got}; allowed: {allowed(about)}")


def _joined(*names: Any) -> str:
    return ".".join(str(name) for name in names if name)


def nearest(key: str, known: Iterable[str]) -> str:
    """Return ``; did you mean 'x'?`` for a misspelt key, or a list of the valid ones."""
    names = sorted(known)
    close = difflib.get_close_matches(key, names, n=1, cutoff=0.5)
    return f"; did you mean {close[0]!r}?" if close else f"; allowed: {', '.join(names)}"


GROUP = "a mapping of settings"
KINDS = {
    "boolean": "true or false",
    "integer": "a whole number",
    "null": "null",
    "number": "a finite number",
    "string": "a text",
}
BOUNDS = {"exclusiveMinimum": "above {:g}", "minimum": "at least {:g}", "maximum": "at most {:.7g}"}
"""What JSON Schema calls the kinds and bounds of a value, in words."""


def allowed(about: Mapping[str, Any]) -> str:
    """Return the values that a setting may have, in words, from its JSON Schema."""
    if "anyOf" in about:
        return ", or ".join(map(allowed, about["anyOf"]))
    if "enum" in about:
        return f"one of {', '.join(about['enum'])}"
    if about.get("type") == "array":
        return f"a list{' of at least one' if about.get('minItems') else ''}, each {allowed(about['items'])}"
    bounds = [words.format(about[key]) for key, words in BOUNDS.items() if key in about]
    return ", ".join([KINDS.get(about.get("type", ""), GROUP), *([" and ".join(bounds)] if bounds else [])])


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
    for name, about in group.about().items():
        value = getattr(group, name)
        if name == "enabled":
            values[name] = np.bool_(True) if value else np.uint8(False)
        elif value is None:
            values[name] = math.inf
        elif "enum" in about:
            values[name] = about["enum"].index(value)
        elif about.get("unit") == "energy":
            values[name] = in_thousandths(value)
        elif isinstance(value, bool | int | float):
            values[name] = value
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
