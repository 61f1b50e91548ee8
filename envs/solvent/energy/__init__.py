"""The energy model outside of the environment: budgets, effective costs and the prices of discovered tools.

    from solvent.energy import EnergyBudget, EnergyContext, effective_cost, energy_for_tool

    budget = EnergyBudget()
    tool = energy_for_tool("slack:send_message")
    cost, factors = effective_cost(tool.energy_cost, EnergyContext(first_use=True))
    if "chat" in tool.allowed_contexts and budget.can_afford(cost):
        budget.spend(cost)

The rules are the functions of ``mechanisms/energy.py``, the very ones that the environment runs, and the numbers are
those of ``params.EnergyParams``. Source: *Action Cost: The Energy Model*.
"""

from solvent.energy.budget import EnergyBooks, EnergyBudget, InsufficientEnergyError
from solvent.energy.explanation import explain, intent_summary_text
from solvent.energy.situation import EnergyContext, effective_cost
from solvent.energy.tools import CATEGORIES, Category, ToolEnergy, energy_for_tool, energy_for_verb

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
