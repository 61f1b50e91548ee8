"""Quotes and summaries of heartbeats, which an ``EnergyMeter`` returns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from solvent.energy.amounts import MOST_ENERGY, number, plain
from solvent.lab.verbs import INTENTS

__all__ = ["HeartbeatSummary", "Quote", "intent_summary_text"]


class Quote(NamedTuple):
    """The cost of an action now, and what keeps it from running.

    Attributes:
        name: the action.
        base: base cost, energy.
        cost: effective cost, energy.
        factors: the multipliers that apply, as in ``effective_cost``.
        obstacle: empty, ``out_of_context`` or ``insufficient_energy``.
    """

    name: str
    base: float
    cost: float
    factors: Mapping[str, float]
    obstacle: str

    @property
    def runs(self) -> bool:
        """True if nothing keeps the action from running."""
        return not self.obstacle


class HeartbeatSummary(NamedTuple):
    """A closed heartbeat: energy spent by intent class, income less the loss to the cap, and the balance after it."""

    number: int
    spent: dict[str, float]
    gained: float
    balance: float


def intent_summary_text(spent: Mapping[str, float] | Iterable[float]) -> str:
    """Return the energy of one heartbeat by intent class in the source's format: a heading, then a line per class.

    Args:
        spent: energy by class (a missing class is 0), or one number for each of ``INTENTS``, as in
            ``info["intent_summary"]``.

    Raises:
        ValueError: a class is unknown, the numbers are too few or too many, or an energy is negative or not finite.
    """
    if not isinstance(spent, Mapping):
        numbers = [float(energy) for energy in spent]
        if len(numbers) != len(INTENTS):
            raise ValueError(
                f"spent: got {len(numbers)} numbers; allowed: {len(INTENTS)}, one for each intent class"
            )
        spent = dict(zip(INTENTS, numbers, strict=True))
    for intent in spent:
        if intent not in INTENTS:
            raise ValueError(f"spent: got the intent class {intent!r}; allowed: {', '.join(INTENTS)}")
    lines = [
        f"- {intent}: {plain(number(f'spent[{intent!r}]', spent.get(intent, 0.0), 0.0, MOST_ENERGY))}"
        for intent in INTENTS
    ]
    return "\n".join(["Energy spent this heartbeat:", *lines])
