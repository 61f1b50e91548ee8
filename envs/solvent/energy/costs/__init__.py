"""The store of costs: prices with their history, proposals and their review, discomfort, heartbeats (extra ``store``).

Mechanism (source: *Action Cost: The Energy Model*): the agent chooses actions, the system chooses costs. An agent
files proposals and logs discomfort; a human reviews; an approval is the only way in which a price changes, and the
database itself holds to that. It lies outside of the environment, which neither imports nor needs it: a lab takes a
dated price list as parameters.

    with CostStore("costs.db") as store:
        store.register_verbs(LabParams())
        filed = file_proposals_jsonl(store, "energy_cost_proposals.jsonl").filed
        store.approve(filed[0].id)
        prices_as_of(store)
"""

try:
    import sqlalchemy as _sqlalchemy  # noqa: F401
except ImportError as error:
    raise ImportError("solvent.energy.costs needs SQLAlchemy: pip install 'solvent-gym[store]'") from error

from solvent.energy.costs.ledgers import Intake, file_proposals_jsonl, log_discomfort_jsonl
from solvent.energy.costs.lifecycle import Direction, ProposalError, Reviewer, Status, StoreError
from solvent.energy.costs.models import (
    CostDiscomfort,
    EnergyCost,
    EnergyCostProposal,
    Heartbeat,
    IntentSummary,
    McpTool,
)
from solvent.energy.costs.price_list import PriceList, dated_prices, prices_as_of
from solvent.energy.costs.store import CostStore

__all__ = [
    "CostDiscomfort",
    "CostStore",
    "Direction",
    "EnergyCost",
    "EnergyCostProposal",
    "Heartbeat",
    "Intake",
    "IntentSummary",
    "McpTool",
    "PriceList",
    "ProposalError",
    "Reviewer",
    "Status",
    "StoreError",
    "dated_prices",
    "file_proposals_jsonl",
    "log_discomfort_jsonl",
    "prices_as_of",
]
