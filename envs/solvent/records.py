"""Records that outlive a step: what was refused, and the one-line reading of an episode.

The fields of ``RefusalEvent`` are the source document's (*Epistemic Debt Enforcement*, "Refusal Log Format"),
in its order.
"""

from __future__ import annotations

import datetime
from dataclasses import asdict, dataclass
from typing import Any

from solvent.actions import Verb, action_table
from solvent.params import LabParams
from solvent.state import Refusal

__all__ = ["REFUSAL_REASONS", "RefusalEvent", "lab_time", "refusal_event"]

REFUSAL_REASONS = tuple(reason.name.lower() for reason in Refusal if reason is not Refusal.NONE)
"""Reasons of refusal as they are logged, in the order in which they are tried."""

_FIRST_DAY = datetime.datetime(2025, 1, 1, tzinfo=datetime.UTC)
_DAYS = 2_900_000  # dates end with the year 9999; a lab that plays on begins its calendar again


@dataclass(frozen=True)
class RefusalEvent:
    """A lasting record that an action was refused because epistemic debt made it unaffordable or forbade it."""

    cycle: int
    timestamp: str
    refusal_reason: str
    proposed_template: str
    proposed_hypothesis: str
    proposed_wells: int
    debt_bits: float
    base_cost_wells: int
    inflated_cost_wells: float
    budget_remaining: int
    debt_threshold: float
    blocked_by_cost: bool
    blocked_by_threshold: bool
    design_id: str

    def to_dict(self) -> dict[str, Any]:
        """The fields in the document's order."""
        return asdict(self)


def lab_time(params: LabParams, episode: int, heartbeat: int) -> str:
    """The lab's clock: ISO 8601, UTC. A heartbeat is an hour; each episode starts on a day of its own."""
    days_an_episode = -(-(params.budget.start_hour + params.budget.heartbeats) // 24)
    moment = _FIRST_DAY + datetime.timedelta(
        days=episode * days_an_episode % _DAYS, hours=params.budget.start_hour + heartbeat
    )
    return moment.strftime("%Y-%m-%dT%H:%M:%S.000Z")


def _hypothesis(params: LabParams, verb: Verb, compound: int, row: Any) -> str:
    if compound < 0:
        return "The vehicle wells show the state of the instrument"
    name = params.assay.compounds[compound]
    if verb in (Verb.PUBLISH_PRIVATE, Verb.PUBLISH_PUBLIC):
        return f"The most probable potency class of {name} is right with probability {row['confidence']:g}"
    return (
        f"{name} changes A549 viability with its dose; this plate tells {row['claim']:g} bits about its EC50"
    )


def refusal_event(params: LabParams, step: Any, lab_index: int | None = None) -> RefusalEvent:
    """The event of a step record whose action was refused; ``lab_index`` marks the lab of a vector."""
    row = action_table(params)[step["action"]]
    verb, compound = Verb(row["verb"]), int(row["compound"])
    template = verb.name.lower()
    cycle = int(step["heartbeat"]) + 1
    subject = f"_{params.assay.compounds[compound].replace(' ', '-')}" if compound >= 0 else ""
    lab = "" if lab_index is None else f"_lab{lab_index}"
    plate = getattr(params.plates, template, None)
    base_wells = plate.wells if plate is not None else 0
    return RefusalEvent(
        cycle=cycle,
        timestamp=lab_time(params, int(step["episode"]), cycle - 1),
        refusal_reason=Refusal(step["refusal"]).name.lower(),
        proposed_template=template,
        proposed_hypothesis=_hypothesis(params, verb, compound, row),
        proposed_wells=base_wells,
        debt_bits=float(step["debt_before"]),
        base_cost_wells=base_wells,
        inflated_cost_wells=float(step["inflated_cost"]),
        budget_remaining=int(step["wells_before"]),
        debt_threshold=params.debt.threshold,
        blocked_by_cost=bool(step["blocked_by_cost"]),
        blocked_by_threshold=bool(step["blocked_by_threshold"]),
        design_id=f"{template}{subject}_{cycle:03d}{lab}",
    )
