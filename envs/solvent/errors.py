"""The base of Solvent's errors, with the code that the command ``solvent`` exits with, and a check of numbers."""

from __future__ import annotations

from typing import Any, ClassVar

__all__ = ["BROKEN", "STOPPED", "USAGE", "SolventError", "number_between"]

USAGE, BROKEN, STOPPED = 2, 1, 130
"""Exit codes: what a user can correct, a run that failed, a run that was stopped."""


class SolventError(Exception):
    """The base of every error that Solvent defines.

    Attributes:
        exit_code: what the command ``solvent`` exits with.
    """

    exit_code: ClassVar[int] = USAGE


def number_between(name: str, value: Any, low: float, high: float) -> float:
    """Return a number that a caller gave.

    Raises:
        ValueError: it is not a number, or outside of ``low`` to ``high``.
    """
    try:
        number = None if isinstance(value, str | bytes | bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = None
    if number is None or not low <= number <= high:  # a NaN is in no range
        raise ValueError(f"{name}: got {value!r:.60}; allowed: a number from {low:g} to {high:.7g}")
    return number
