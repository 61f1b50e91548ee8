"""The effective cost of an action in its context.

Mechanism (source: *Action Cost: The Energy Model*, "Context Modifiers"):

    effective = base * clip(first_use * error_rate * late_social * similar, 1, multiplier_cap)

No context makes an action cheaper than its base cost.

Known approximation: as in the environment, the error rate is high if at least half of the last four uses failed, and
costs are rounded to the nearest thousandth, halves up.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping

from solvent.energy.amounts import MOST_ENERGY, number
from solvent.lab.mechanisms.energy import EnergyParams, error_prone, multiplier, remember_use, within_hours
from solvent.lab.mechanisms.energy import effective_cost as scaled
from solvent.lab.settings import UNIT, in_thousandths

__all__ = ["EnergyContext", "effective_cost"]

_MANY_ERRORS = 0.5
_DEFAULTS = EnergyParams()
_multiplier = getattr(multiplier, "py_func", multiplier)  # the plain Python function accepts EnergyParams


@dataclasses.dataclass(frozen=True)
class EnergyContext:
    """The context of an action. The default changes no cost.

    Attributes:
        first_use: the tool was never used before.
        error_rate: share of its recent uses that failed, 0 to 1; half or more is high. An alternative to
            ``recent_failures``.
        recent_failures: True for each recent use that failed, the latest last; two of the last four are high.
        hour: hour of the day, 0 to 23.
        social: the action reaches other people and costs more late at night.
        recent_similar: a similar action was taken in this heartbeat.

    Raises:
        ValueError: an error rate or an hour is out of range, or both an error rate and failures are given.
    """

    first_use: bool = False
    error_rate: float | None = None
    recent_failures: tuple[bool, ...] = ()
    hour: int | None = None
    social: bool = False
    recent_similar: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "recent_failures", tuple(bool(failed) for failed in self.recent_failures))
        if self.error_rate is not None:
            number("error_rate", self.error_rate, 0.0, 1.0)
            if self.recent_failures:
                raise ValueError("error_rate: got recent_failures as well; allowed: one of the two")
        if self.hour is not None and not number("hour", self.hour, 0, 23).is_integer():
            raise ValueError(f"hour: got {self.hour!r}; allowed: a whole number from 0 to 23")

    @property
    def errors(self) -> bool:
        """True if the error rate is high."""
        if self.error_rate is not None:
            return self.error_rate >= _MANY_ERRORS
        record = 0
        for failed in self.recent_failures:
            record = remember_use(record, failed)
        return bool(error_prone(record))

    def is_late(self, params: EnergyParams) -> bool:
        """Return whether ``hour`` is within the late hours of ``params``."""
        return self.hour is not None and bool(
            within_hours(int(self.hour), params.late_from, params.late_until)
        )


def effective_cost(
    base: float, context: EnergyContext | None = None, params: EnergyParams | None = None
) -> tuple[float, Mapping[str, float]]:
    """Return the cost of an action in its context, energy, and the factors behind it.

    Args:
        base: base cost, energy, 0 to a million.
        context: by default one that changes nothing.
        params: multipliers, hours and the bound; by default the source's.

    Returns:
        ``(cost, factors)``. ``factors`` has the multipliers that applied (``first_use``, ``error_rate``,
            ``late_social``, ``similar``) and ``clipped``, which is True if their product was above the bound.

    Raises:
        ValueError: the base cost is negative, not finite or above a million.
    """
    energy = in_thousandths(number("base", base, 0.0, MOST_ENERGY))
    context = context if context is not None else EnergyContext()
    params = params if params is not None else _DEFAULTS
    flags = {
        "first_use": context.first_use,
        "error_rate": context.errors,
        "late_social": context.social and context.is_late(params),
        "similar": context.recent_similar,
    }
    cost = scaled(energy, _multiplier(params, *map(bool, flags.values())))
    factors: dict[str, float] = {name: getattr(params, name) for name, holds in flags.items() if holds}
    factors["clipped"] = math.prod(factors.values()) > params.multiplier_cap
    return int(cost) / UNIT, factors
