"""Energy for your own agent loop: a meter of what acting costs, and prices for tools.

    from solvent.energy import EnergyMeter

    meter = EnergyMeter(start=10, regeneration=3, cap=20)
    meter.discover([{"name": "calendar:delete_event", "annotations": {"openWorldHint": False}}])
    quote = meter.act("calendar:delete_event", "standup", context="chat", notes="nobody comes")
    print(quote.cost, quote.runs)  # 7.875 True
    # The tool runs now; if it fails: meter.failed("calendar:delete_event").
    print(meter.close_heartbeat())  # Energy spent this heartbeat: ...

The rules are the functions of ``solvent.lab.mechanisms.energy``, which the lab runs too. ``solvent.energy.store`` keeps
prices and proposals, which people review. Source: *Action Cost: The Energy Model*.
"""

from solvent.energy.explanation import explain
from solvent.energy.meter import (
    Action,
    EnergyMeter,
    HeartbeatSummary,
    Quote,
    energy_for_action,
    intent_summary_text,
)  # fmt: skip
from solvent.energy.pricing import CATEGORIES, Category, ToolEnergy, energy_for_tool, energy_for_verb
from solvent.energy.rules import Discomfort, Proposal, ProposalError, StoreError

__all__ = [
    "CATEGORIES", "Action", "Category", "Discomfort", "EnergyMeter", "HeartbeatSummary", "Proposal", "ProposalError",
    "Quote", "StoreError", "ToolEnergy", "energy_for_action", "energy_for_tool", "energy_for_verb", "explain",
    "intent_summary_text",
]  # fmt: skip
