"""Read a sweep from its file, which is not trusted.

Each value must have its type, and ``summary`` and ``controls`` are recomputed from the samples.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, get_args

from solvent.files import strict_json
from solvent.gate.errors import GateError
from solvent.gate.measurement import Oracle
from solvent.gate.sweep import FORMAT, Measured, Sweep, controls_of, summary_of

__all__ = ["sweep_from_json"]

KEYS = {"format", *(field.name for field in fields(Sweep))}


def sweep_from_json(text: str | bytes, where: str = "sweep") -> Sweep:
    """Return the sweep that ``Sweep.to_json`` wrote."""
    try:
        content = strict_json(text)
    except ValueError:
        raise GateError(f"{where}: no JSON in UTF-8; allowed: what `solvent gate sweep` writes") from None
    if not isinstance(content, Mapping) or content.get("format") != FORMAT or set(content) != KEYS:
        raise GateError(f"{where}: not a sweep; allowed: what `solvent gate sweep` writes ({FORMAT})")
    if not isinstance(content["samples"], list) or not content["samples"]:
        raise GateError(f"{where}, samples: allowed: a list of at least one")
    rows = tuple(
        Measured(**_checked(row, _SAMPLE, f"{where}, sample {i}"))
        for i, row in enumerate(content["samples"], 1)
    )
    parts = {key: _checked(content[key], kinds, f"{where}, {key}") for key, kinds in _PARTS.items()}
    taus = _taus(content["tau_by_percentile"], f"{where}, tau_by_percentile")
    for key in ("summary", "controls"):
        if not isinstance(content[key], Mapping):
            raise GateError(f"{where}, {key}: allowed: an object, as `solvent gate sweep` writes it")
    budget, seed = parts["settings"]["budget"], parts["settings"]["seed"]
    return Sweep(
        **parts,
        tau_by_percentile=taus,
        summary=summary_of(rows, taus, seed),
        controls=controls_of(rows, budget, seed),
        samples=rows,
    )


def _taus(values: Any, where: str) -> dict[str, float]:
    if not isinstance(values, Mapping) or not values:
        raise GateError(f"{where}: allowed: an object, as `solvent gate sweep` writes it")
    for name, tau in values.items():
        p = _number(name[1:])
        if p is None or not 0.0 < p <= 100.0 or name != f"P{p:g}" or not _is_share(tau):
            raise GateError(
                f"{where}: got {ascii(name)[1:-1]:.20}: {tau!r:.40}; allowed: P10 with a number from -1 to 1"
            )
    return dict(values)


def _checked(value: Any, kinds: Mapping[str, str], where: str) -> dict[str, Any]:
    """Return an object that has exactly these fields, each of its kind."""
    if not isinstance(value, Mapping) or set(value) != set(kinds):
        raise GateError(f"{where}: allowed: an object with {', '.join(kinds)}")
    for name, kind in kinds.items():
        what, holds = _KINDS[kind]
        if not holds(value[name]):
            raise GateError(f"{where}, {name}: got {value[name]!r:.40}; allowed: {what}")
    return dict(value)


def _is_number(value: Any) -> bool:
    try:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:  # an integer too large for a float
        return False


def _is_share(value: Any) -> bool:
    return _is_number(value) and -1.0 <= value <= 1.0


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


_KINDS: Mapping[str, tuple[str, Callable[[Any], bool]]] = {
    "str": ("text", lambda value: isinstance(value, str)),
    "str | None": ("text or null", lambda value: value is None or isinstance(value, str)),
    "bool": ("true or false", lambda value: isinstance(value, bool)),
    "int": ("a whole number, 0 or more", _is_count),
    "float": ("a finite number", _is_number),
    "share": ("a number from -1 to 1", _is_share),
    "share | None": (
        "a number from -1 to 1, or null",
        lambda value: value is None or _is_share(value),
    ),
    "oracle": (", ".join(get_args(Oracle)), lambda value: value in get_args(Oracle)),
    "size": ("a whole number, 1 or more", lambda value: _is_count(value) and value > 0),
    "budget": ("a number between 0 and 1", lambda value: _is_number(value) and 0.0 < value < 1.0),
    "numbers": ("a list of numbers", lambda value: isinstance(value, list) and all(map(_is_number, value))),
    "counts": (
        "an object of whole numbers",
        lambda value: isinstance(value, Mapping) and all(map(_is_count, value.values())),
    ),
}
_SHARES = dict.fromkeys(("energy", "oracle_energy", "energy_gap", "random_gap"), "share")
_SAMPLE = {field.name: str(field.type) for field in fields(Measured)} | _SHARES | {"hard_gap": "share | None"}
_PARTS = {
    "dataset": {
        "name": "str",
        "format": "str",
        "sha256": "str",
        "samples": "int",
        "labels": "counts",
        "skipped": "int",
    },
    "model": {"name": "str", "fingerprint": "str"},
    "settings": {
        "n": "int",
        "seed": "int",
        "top_k": "size",
        "rank_r": "size",
        "oracle": "oracle",
        "percentiles": "numbers",
        "budget": "budget",
    },
}
