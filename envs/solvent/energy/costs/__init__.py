"""The store of costs: prices and their history, proposals and reviews, an agent's record (extra ``store``).

Mechanism (source: *Action Cost: The Energy Model*): the agent chooses actions, the system chooses costs. An agent files
proposals and logs discomfort, a human reviews, and only an approval changes a price. The environment does not import
the store: a lab takes a dated price list as parameters.

    with CostStore("costs.db") as store:
        store.register_verbs(LabParams())
        filed = file_proposals_jsonl(store, "energy_cost_proposals.jsonl").filed
        store.approve(filed[0].id)
        store.price_list().costs
"""

from solvent.database import StoreError
from solvent.energy.costs.ledgers import file_proposals_jsonl, log_discomfort_jsonl
from solvent.energy.costs.lifecycle import ProposalError
from solvent.energy.costs.models import EnergyCost, EnergyCostProposal
from solvent.energy.costs.prices import PriceList
from solvent.energy.costs.records import CostDiscomfort, DeferralSource, EnergyUse, Heartbeat, Reflection
from solvent.energy.costs.store import CostStore

__all__ = [
    "CostDiscomfort",
    "CostStore",
    "DeferralSource",
    "EnergyCost",
    "EnergyCostProposal",
    "EnergyUse",
    "Heartbeat",
    "PriceList",
    "ProposalError",
    "Reflection",
    "StoreError",
    "file_proposals_jsonl",
    "log_discomfort_jsonl",
]
