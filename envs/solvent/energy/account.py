"""One pool of energy and its books, in whole thousandths: ``start + income - lost - spent == balance``, exactly."""

from __future__ import annotations

from typing import NamedTuple

from solvent.energy.amounts import MOST_ENERGY, number, plain
from solvent.lab.mechanisms.energy import regenerate
from solvent.lab.settings import UNIT, in_thousandths
from solvent.lab.verbs import INTENTS

__all__ = ["Account", "EnergyBooks"]


class EnergyBooks(NamedTuple):
    """All entries of a meter, in whole thousandths of energy: ``start + income - lost - spent == balance``, exactly."""

    start: int
    income: int
    lost: int
    spent: int
    balance: int


class Account:
    """The balance of a meter, and what the open heartbeat spent on each intent class."""

    __slots__ = ("_income", "_lost", "_spent", "_start", "balance", "cap", "intents", "regeneration")

    def __init__(self, start: float, regeneration: float, cap: float) -> None:
        self._start = self.balance = in_thousandths(number("start", start, 0.0, MOST_ENERGY))
        self.regeneration = in_thousandths(number("regeneration", regeneration, 0.0, MOST_ENERGY))
        self.cap = in_thousandths(number("cap", cap, 1.0 / UNIT, MOST_ENERGY))
        if self._start > self.cap:
            raise ValueError(f"start: got {plain(start)}; allowed: at most the cap {plain(cap)}")
        self._income = self._lost = self._spent = 0
        self.intents = dict.fromkeys(INTENTS, 0)

    @property
    def books(self) -> EnergyBooks:
        """All entries."""
        return EnergyBooks(self._start, self._income, self._lost, self._spent, self.balance)

    @property
    def spent(self) -> dict[str, float]:
        """Energy spent in the open heartbeat by intent class, energy."""
        return {intent: energy / UNIT for intent, energy in self.intents.items()}

    def resume(self, balance: float) -> None:
        """Begin with what an earlier meter left, energy.

        Raises:
            ValueError: it is above the cap.
        """
        self._start = self.balance = in_thousandths(balance)
        if self.balance > self.cap:
            raise ValueError(
                f"cap: got {plain(self.cap / UNIT)}; allowed: at least the balance {plain(balance)} in the store"
            )

    def pay(self, cost: int, intent: str) -> None:
        """Spend thousandths that are there."""
        self.balance -= cost
        self._spent += cost
        self.intents[intent] += cost

    def income(self) -> int:
        """Return the next income less the loss to the cap, thousandths."""
        return int(regenerate(self.balance, self.regeneration, self.cap)[0]) - self.balance

    def close(self) -> None:
        """Close the heartbeat: add the income and begin a new summary."""
        gained = self.income()
        self._income += self.regeneration
        self._lost += self.regeneration - gained
        self.balance += gained
        self.intents = dict.fromkeys(INTENTS, 0)
