"""Cost proposals and deferrals as records, and the rules of filing and approving.

Mechanism (source: *Action Cost: The Energy Model*, "Cost Change Proposals"). A proposal is an argument with evidence
from at least ``EVIDENCE_HEARTBEATS`` heartbeats. Only an approval changes a price ``c``, once a day, and then to

    new cost in [max(suggested_min, floor, c / 2), min(suggested_max, ceiling, 3 c / 2)],

lower for a decrease, higher for an increase (``STEP_SHARE`` is one half). Cheap and expensive actions thus have the
same freedom, no number of approvals reaches 0, and what is free stays free.

Known approximation: the source asks for "rate limits on changes" and for "multiple heartbeats" and gives no numbers.
"""

from __future__ import annotations

import datetime
import json
import math
import os
import re
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, TypeVar

from pydantic import BaseModel, Field, ValidationError, field_validator, model_validator

from solvent.energy.pricing import MOST_ENERGY
from solvent.errors import SolventError
from solvent.files import RECORD, InputError, first_problem, input_lines, now, read_input, strict_json

if TYPE_CHECKING:
    from solvent.energy.tables import EnergyCost, EnergyCostProposal

__all__ = [
    "CHANGE_EVERY", "EVIDENCE_HEARTBEATS", "STEP_SHARE", "Discomfort", "Evidence", "Proposal", "ProposalError",
    "StoreError", "allowed_costs", "approved_cost", "check_filing", "rows_in",
]  # fmt: skip

STEP_SHARE = 0.5
"""Maximum change of a price by one approval, as a share of it."""
CHANGE_EVERY = datetime.timedelta(days=1)
"""Time between two approvals for one target."""
EVIDENCE_HEARTBEATS = 2
"""Heartbeats of evidence that a proposal takes."""
MOST_READ = 2**26
"""Maximum size of a file of proposals or deferrals, bytes."""

R = TypeVar("R", bound=BaseModel)
Kind = Literal["action", "mcp_tool"]
Energy = Annotated[float, Field(strict=True, ge=0.0, le=MOST_ENERGY)]
Beat = Annotated[int, Field(strict=True, ge=0, lt=2**31)]
Text = Annotated[
    str, Field(min_length=1, max_length=10_000, pattern=r"^[^\x00]*[^\s\x00][^\x00]*$", strict=True)
]


class StoreError(SolventError, ValueError):
    """A store can't be used, or refuses a value. The message is one line."""


class ProposalError(StoreError):
    """A proposal breaks a rule of filing or review. The message is one line."""


class Evidence(BaseModel):
    """One observation and its source, such as ``heartbeat_102``; ``"heartbeat_102: deferred outreach"`` is read too."""

    model_config = RECORD

    source: Text
    summary: Text

    @model_validator(mode="before")
    @classmethod
    def _from_text(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        source, colon, summary = value.partition(":")
        texts = (source.strip(), summary.strip()) if colon else ("agent", value)
        return dict(zip(("source", "summary"), texts, strict=True))


class Proposal(BaseModel):
    """The source's ``energy_cost_proposal``. A row of ``energy_cost_proposals``, as a lab logs it, is read too.

    Attributes:
        target: the action or tool, which has a price in the store.
        target_type: None for the one that the store knows by this name.
        current_cost: the cost that is argued about, energy.
        suggested_range: lowest and highest cost, energy; two costs, since a proposal is not an exact value.
        heartbeat_refs: further heartbeats of evidence.
        memory_refs: ids of memories that support it.
    """

    model_config = RECORD

    type: Literal["energy_cost_proposal"] = "energy_cost_proposal"
    target: Text
    target_type: Kind | None = None
    current_cost: Energy
    suggested_range: tuple[Energy, Energy]
    direction: Literal["increase", "decrease"]
    rationale: Text
    evidence: list[Evidence] = Field(min_length=1)
    confidence: Annotated[float, Field(strict=True, ge=0.0, le=1.0)]
    heartbeat_refs: list[Beat] = []
    memory_refs: list[uuid.UUID] = []

    @property
    def heartbeats(self) -> list[int]:
        """The heartbeats of the evidence."""
        named = (re.fullmatch(r"heartbeat_(\d{1,9})", item.source) for item in self.evidence)
        return sorted({*self.heartbeat_refs, *(int(match[1]) for match in named if match)})

    @model_validator(mode="before")
    @classmethod
    def _from_row(cls, row: Any) -> Any:
        if not isinstance(row, Mapping) or "target_name" not in row:
            return row
        span = (row.get("suggested_min"), row.get("suggested_max"))
        known = {key: value for key, value in row.items() if key in cls.model_fields}
        return known | {"target": row["target_name"], "suggested_range": span}

    @field_validator("suggested_range")
    @classmethod
    def _range_is_real(cls, costs: tuple[float, float]) -> tuple[float, float]:
        if costs[0] >= costs[1]:
            raise ValueError("a lowest cost and a highest cost above it")
        return costs

    @model_validator(mode="after")
    def _range_lies_in_its_direction(self) -> Self:
        low, high = self.suggested_range
        cost = self.current_cost
        fits = low < cost and high <= cost if self.direction == "decrease" else cost <= low and cost < high
        if not fits:
            side = "below" if self.direction == "decrease" else "above"
            raise ValueError(f"suggested_range: lowest and highest cost, {side} current_cost {cost:g}")
        return self


class Discomfort(BaseModel):
    """A row of the source's ``cost_discomfort_log``: an action that was deferred because of its cost.

    Further keys, as in the lines of a lab, are left out.

    Attributes:
        estimated_value: the agent's estimate in its own units (bits in the lab).
        energy_cost: its cost, energy.
        energy_available: the balance at that time, energy.
        similar_deferrals_recent: heartbeats in which it was deferred lately.
    """

    model_config = RECORD | {"extra": "ignore"}

    heartbeat_number: Beat
    action_considered: Text
    estimated_value: float | None = None
    energy_cost: Energy
    energy_available: Energy
    deferral_reason: Literal["insufficient_energy", "cost_benefit", "hoarding"]
    agent_notes: Text | None = None
    similar_deferrals_recent: Beat = 0
    created_at: datetime.datetime = Field(default_factory=now)

    @property
    def was_worthwhile(self) -> bool:
        """True if the agent estimated a value above 0; without an estimate nothing says so."""
        return self.estimated_value is not None and self.estimated_value > 0.0


def rows_in(path: str | os.PathLike[str], kind: type[R]) -> Iterator[tuple[str, uuid.UUID, R | None]]:
    """Yield place, id and record of each row of a file, one JSON document or JSON lines; None for what was reviewed.

    The id is made of the row's content and of how often it came before, so a ledger that has grown can be read again.

    Raises:
        OSError: the file can't be read.
        InputError: a row is not a record; the message names file, line and key.
    """
    try:
        value = strict_json(read_input(path, MOST_READ))
        rows = [(str(path), one) for one in (value if isinstance(value, list) else [value])]
    except ValueError:  # not one document
        rows = [(f"{path}, line {number}", line) for number, line in input_lines(path) if line.strip()]
    counts: Counter[str] = Counter()
    for place, entry in rows:
        try:
            row = strict_json(entry) if isinstance(entry, bytes) else entry
            reviewed = isinstance(row, dict) and row.get("status", "pending") != "pending"
            record = None if reviewed else kind.model_validate(row)
        except ValidationError as error:
            raise InputError(f"{place}: {first_problem(error)}") from None
        except ValueError as error:
            raise InputError(f"{place}: {error!s:.200}") from None
        text = json.dumps(row, sort_keys=True)
        counts[text] += 1
        yield place, uuid.uuid5(uuid.NAMESPACE_OID, f"{counts[text]} {text}"), record


def check_filing(proposal: Proposal, price: EnergyCost) -> None:
    """Refuse a proposal without evidence from several heartbeats, or with a range beyond floor or ceiling.

    Raises:
        ProposalError: the message names the first fault.
    """
    heartbeats, (low, high) = len(proposal.heartbeats), proposal.suggested_range
    if heartbeats < EVIDENCE_HEARTBEATS:
        raise ProposalError(
            f"evidence: got {heartbeats} heartbeats; allowed: {EVIDENCE_HEARTBEATS} or more, as 'heartbeat_102: ...'"
        )
    if low < price.floor:
        raise ProposalError(f"suggested_range: got {low:g}; allowed: at least the floor {price.floor:g}")
    if price.ceiling is not None and high > price.ceiling:
        raise ProposalError(f"suggested_range: got {high:g}; allowed: at most the ceiling {price.ceiling:g}")


def allowed_costs(row: EnergyCostProposal, price: EnergyCost) -> tuple[float, float] | None:
    """Return the lowest and highest cost that an approval may set now, energy; None if there is none."""
    ceiling = math.inf if price.ceiling is None else price.ceiling
    low = max(row.suggested_min, price.floor, price.cost * (1.0 - STEP_SHARE))
    high = min(row.suggested_max, ceiling, price.cost * (1.0 + STEP_SHARE))
    if row.direction == "decrease":
        high = min(high, price.cost)
    else:
        low = max(low, price.cost)
    return (low, high) if low <= high and (low, high) != (price.cost, price.cost) else None


def approved_cost(
    row: EnergyCostProposal, price: EnergyCost, asked: float | None, moment: datetime.datetime
) -> float:
    """Return the price that an approval sets (energy), ``asked`` or the allowed cost nearest to the price.

    Raises:
        ProposalError: the range has no allowed cost, ``asked`` is not allowed or missing where the price is another
            than the one argued about, or the price changed less than a day ago.
    """
    again, allowed = price.effective_at + CHANGE_EVERY, allowed_costs(row, price)
    if price.revision and moment < again:
        raise ProposalError(
            f"cost: it changed less than a day ago; allowed: from {again:%Y-%m-%d %H:%M:%S} UTC"
        )
    if allowed is None:
        raise ProposalError(
            f"a price of {price.cost:g} can't {row.direction} into {row.suggested_min:g} to {row.suggested_max:g} by "
            f"at most {100 * STEP_SHARE:g} % at once; allowed: reject the proposal"
        )
    low, high = allowed
    if asked is None and row.current_cost == price.cost:
        asked = high if row.direction == "decrease" else low
    if asked is None or not low <= asked <= high or asked == price.cost:
        raise ProposalError(
            f"cost: the price is {price.cost:g}; allowed: name a cost from {low:g} to {high:g} other than the price"
        )
    return asked
