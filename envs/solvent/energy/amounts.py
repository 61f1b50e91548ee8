"""Amounts of energy as numbers and as text."""

from __future__ import annotations

import math
from typing import Any

__all__ = ["MOST_ENERGY", "number", "plain"]

MOST_ENERGY = 1e6
"""Upper bound of a budget or a cost: far above any lab, and exact in thousandths."""


def number(name: str, value: Any, low: float, high: float) -> float:
    """Return ``value`` as a float in ``[low, high]``.

    Raises:
        ValueError: ``value`` is not a number, not finite or out of range. The message has name, value and range.
    """
    allowed = f"allowed: a number from {low:g} to {high:.7g}"
    if isinstance(value, bool | str | bytes):
        raise ValueError(f"{name}: got {value!r}; {allowed}")  # noqa: TRY004 - one kind of error for a bad value
    try:
        result = float(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name}: got {type(value).__name__}; {allowed}") from None
    if not (math.isfinite(result) and low <= result <= high):
        raise ValueError(f"{name}: got {result:g}; {allowed}")
    return result


def plain(value: float) -> str:
    """Format a number to three decimals without trailing zeros: ``6``, ``4.5``."""
    return f"{round(float(value), 3) + 0.0:.3f}".rstrip("0").rstrip(".")
