"""Energy for your own agent loop: a budget, costs that depend on the context, and prices for tools.

    from solvent.energy import EnergyBudget, EnergyContext, effective_cost, energy_for_tool

    budget = EnergyBudget(start=10, regeneration=3, cap=20)
    tool = energy_for_tool("slack:send_message", annotations={"destructiveHint": False})
    cost, factors = effective_cost(tool.energy_cost, EnergyContext(first_use=True))
    print(tool.category, cost, factors)  # send_private 5.625 {'first_use': 1.5, 'clipped': False}
    if "chat" in tool.allowed_contexts and budget.can_afford(cost):
        budget.spend(cost)
    budget.regenerate()  # a heartbeat has passed
    print(budget.balance)  # 7.375

The rules are the functions of ``solvent.lab.mechanisms.energy``, which the lab runs too. ``solvent.energy.costs``
stores prices; agents propose changes to them and people review the proposals. Source: *Action Cost: The Energy Model*.
"""

from solvent.energy.budget import EnergyBooks, EnergyBudget, InsufficientEnergyError
from solvent.energy.context import EnergyContext, effective_cost
from solvent.energy.explanation import explain, intent_summary_text
from solvent.energy.pricing import CATEGORIES, Category, ToolEnergy, energy_for_tool, energy_for_verb

__all__ = [
    "CATEGORIES",
    "Category",
    "EnergyBooks",
    "EnergyBudget",
    "EnergyContext",
    "InsufficientEnergyError",
    "ToolEnergy",
    "effective_cost",
    "energy_for_tool",
    "energy_for_verb",
    "explain",
    "intent_summary_text",
]
