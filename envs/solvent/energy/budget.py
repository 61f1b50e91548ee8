"""A budget of energy and its books.

Mechanism (source: *Action Cost: The Energy Model*, "Energy Budget"): each heartbeat adds a fixed income, acting spends
it, and the balance carries over up to a cap. The balance is never negative, and no energy is refunded:

    balance = start + income - lost - spent

Energy is counted in whole thousandths, as in the environment, so the books balance exactly.

Known approximation: a cost is rounded to the nearest thousandth, and a positive cost to at least one.
"""

from __future__ import annotations

from typing import NamedTuple

from solvent.energy.amounts import MOST_ENERGY, number, plain
from solvent.lab.mechanisms.energy import EnergyParams, regenerate
from solvent.lab.settings import UNIT, in_thousandths

__all__ = ["EnergyBooks", "EnergyBudget", "InsufficientEnergyError"]

_DEFAULTS = EnergyParams()
_MOST_HEARTBEATS = 1_000_000


class InsufficientEnergyError(ValueError):
    """A cost above the balance; ``cost`` and ``balance`` are in units of energy."""

    def __init__(self, cost: float, balance: float) -> None:
        self.cost = cost
        self.balance = balance
        super().__init__(f"cost: got {plain(cost)} energy; allowed: at most {plain(balance)}, what is left")

    def __reduce__(self) -> tuple[type[InsufficientEnergyError], tuple[float, float]]:
        return type(self), (self.cost, self.balance)


class EnergyBooks(NamedTuple):
    """All entries so far, in whole thousandths of energy: ``start + income - lost - spent == balance``, exactly."""

    start: int
    income: int
    lost: int
    spent: int
    balance: int


class EnergyBudget:
    """A budget of energy with fixed rules. The defaults are those of ``EnergyParams``.

    Args:
        start: energy at the start, at most ``cap``.
        regeneration: income per heartbeat, energy.
        cap: maximum balance that carries over, above 0.

    Raises:
        ValueError: a number is negative, not finite or above a million, or ``start`` is above ``cap``.
    """

    __slots__ = ("_balance", "_cap", "_income", "_lost", "_regeneration", "_spent", "_start")

    def __init__(
        self,
        start: float = _DEFAULTS.start,
        regeneration: float = _DEFAULTS.regeneration,
        cap: float = _DEFAULTS.cap,
    ) -> None:
        self._start = in_thousandths(number("start", start, 0.0, MOST_ENERGY))
        self._regeneration = in_thousandths(number("regeneration", regeneration, 0.0, MOST_ENERGY))
        self._cap = in_thousandths(number("cap", cap, 1.0 / UNIT, MOST_ENERGY))
        if self._start > self._cap:
            raise ValueError(f"start: got {plain(start)}; allowed: at most the cap {plain(cap)}")
        self._balance = self._start
        self._income = self._lost = self._spent = 0

    @classmethod
    def from_params(cls, params: EnergyParams) -> EnergyBudget:
        """Return a budget with the start, income and cap of a lab; it doesn't leak."""
        return cls(params.start, params.regeneration, params.cap)

    @property
    def start(self) -> float:
        """Energy at the start."""
        return self._start / UNIT

    @property
    def regeneration(self) -> float:
        """Income per heartbeat, energy."""
        return self._regeneration / UNIT

    @property
    def cap(self) -> float:
        """Maximum balance that carries over."""
        return self._cap / UNIT

    @property
    def balance(self) -> float:
        """Energy left, never negative."""
        return self._balance / UNIT

    @property
    def books(self) -> EnergyBooks:
        """All entries so far, in whole thousandths of energy."""
        return EnergyBooks(self._start, self._income, self._lost, self._spent, self._balance)

    def regenerate(self, heartbeats: int = 1) -> float:
        """Close ``heartbeats`` heartbeats and return the energy added. Income above the cap is lost.

        Raises:
            ValueError: ``heartbeats`` is not a whole number from 0 to a million.
        """
        count = number("heartbeats", heartbeats, 0, _MOST_HEARTBEATS)
        if not count.is_integer():
            raise ValueError(f"heartbeats: got {count:g}; allowed: a whole number")
        income = self._regeneration * int(count)
        before = self._balance
        balance, lost = regenerate(before, income, self._cap)
        self._balance = int(balance)
        self._income += income
        self._lost += int(lost)
        return (self._balance - before) / UNIT

    def can_afford(self, cost: float) -> bool:
        """Return whether ``cost`` is at most the balance.

        Raises:
            ValueError: the cost is negative, not finite or above a million.
        """
        return _cost(cost) <= self._balance

    def spend(self, cost: float) -> float:
        """Spend ``cost`` energy and return the balance.

        Raises:
            InsufficientEnergyError: the cost is above the balance; nothing is spent.
            ValueError: the cost is negative, not finite or above a million.
        """
        thousandths = _cost(cost)
        if thousandths > self._balance:
            raise InsufficientEnergyError(thousandths / UNIT, self.balance)
        self._balance -= thousandths
        self._spent += thousandths
        return self.balance

    def __repr__(self) -> str:
        return (
            f"EnergyBudget(balance={plain(self.balance)}, regeneration={plain(self.regeneration)}, "
            f"cap={plain(self.cap)})"
        )


def _cost(cost: float) -> int:
    energy = number("cost", cost, 0.0, MOST_ENERGY)
    # A cost rounded to 0 would make the action free.
    return max(1, in_thousandths(energy)) if energy > 0.0 else 0
