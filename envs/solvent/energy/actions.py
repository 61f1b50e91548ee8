"""The actions of an agent: what each costs, the intent class it belongs to, and where it is allowed.

An action of your own is rated or priced by hand; a discovered tool is priced by ``energy_for_tool``. Both are a
``ToolEnergy``. Source: *Action Cost: The Energy Model*, "Base Costs", "Intent Classes" and "MCP Tool Mapping".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from solvent.energy.amounts import MOST_ENERGY, number, plain
from solvent.energy.pricing import ACTION, BOTH, CATEGORIES, ToolEnergy
from solvent.lab.mechanisms.energy import DIMENSIONS, HIGHEST, base_cost
from solvent.lab.settings import UNIT, nearest
from solvent.lab.verbs import INTENTS

__all__ = ["INTENT_OF", "Action", "energy_for_action", "require_intent"]

INTENT_OF: Mapping[str, str] = MappingProxyType(
    {
        "read": "exploration",
        "create": "maintenance",
        "modify": "maintenance",
        "delete": "maintenance",
        "send_private": "social",
        "send_public": "social",
    }
)
"""The intent class of a discovered tool, by its category."""


class Action(NamedTuple):
    """An action of a meter: its terms, intent class, kind (``action`` or ``mcp_tool``) and base cost in force."""

    tool: ToolEnergy
    intent: str
    kind: str
    price: float


def energy_for_action(
    name: Any, *, ratings: Sequence[float] | None = None, cost: float | None = None, category: str = ACTION
) -> ToolEnergy:
    """Return the terms of an action of your own.

    Args:
        name: its name.
        ratings: five ratings from 0 to 4, in the order of ``DIMENSIONS``; they give the base cost.
        cost: base cost, energy, instead of ratings.
        category: ``action`` for what reaches nobody and destroys nothing; otherwise a key of ``CATEGORIES``, which
            gives the floor and the contexts.

    Raises:
        ValueError: the name is empty, ratings and cost are both given or both missing, the category is unknown, or the
            cost is below its floor.
    """
    if not isinstance(name, str) or not name.strip():
        raise ValueError(f"name: got {name!r}; allowed: a text")
    if category != ACTION and category not in CATEGORIES:
        raise ValueError(f"category: got {category!r}{nearest(str(category), (ACTION, *CATEGORIES))}")
    if (ratings is None) == (cost is None):
        raise ValueError(f"{name}: got {'neither' if cost is None else 'both'}; allowed: ratings or a cost")
    factors: dict[str, Any] = {}
    if ratings is not None:
        if len(ratings) != len(DIMENSIONS):
            raise ValueError(f"ratings: got {len(ratings)}; allowed: five ({', '.join(DIMENSIONS)})")
        rated = [number(what, rating, 0.0, HIGHEST) for what, rating in zip(DIMENSIONS, ratings, strict=True)]
        cost = base_cost(rated)
        factors = dict(zip(DIMENSIONS, rated, strict=True))
    base = number("cost", cost, 0.0, MOST_ENERGY)
    if 0.0 < base < 1.0 / UNIT:
        raise ValueError(f"cost: got {base:g}; allowed: 0, or at least {1.0 / UNIT:g}")
    floor = None if category == ACTION else CATEGORIES[category].floor
    if floor is not None and base < floor:
        raise ValueError(f"{name}: got a cost of {plain(base)}; allowed: at least its floor {plain(floor)}")
    return ToolEnergy(
        name=name,
        category=category,
        energy_cost=base,
        energy_cost_floor=floor,
        energy_cost_factors={"base": base} | factors,
        allowed_contexts=BOTH if category == ACTION else CATEGORIES[category].contexts,
    )


def require_intent(intent: str | None, tool: ToolEnergy) -> str:
    """Return ``intent``, or the intent class of the tool's category if it is None.

    Raises:
        ValueError: the intent class is unknown, or None for an action of your own.
    """
    if intent is None:
        intent = INTENT_OF.get(tool.category)
    if intent not in INTENTS:
        raise ValueError(f"intent: got {intent!r} for {tool.name!r}; allowed: {', '.join(INTENTS)}")
    return intent
