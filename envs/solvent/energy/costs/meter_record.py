"""The record that an ``EnergyMeter`` keeps in a store, and the evidence that its proposals take from it."""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Iterable

from solvent.energy.actions import Action
from solvent.energy.amounts import plain
from solvent.energy.costs.lifecycle import Direction, Status
from solvent.energy.costs.models import EnergyCostProposal
from solvent.energy.costs.records import CostDiscomfort, DeferralSource, EnergyUse, Heartbeat, Reflection
from solvent.energy.costs.store import CostStore
from solvent.energy.pricing import ToolEnergy
from solvent.energy.quotes import Quote
from solvent.lab.mechanisms.proposals import confidence as usual_confidence

__all__ = ["MeterRecord"]

MOST_EVIDENCE = 12
"""Heartbeats that a proposal names at most, the latest; a person reads them."""

Evidence = list[tuple[int, str, list[uuid.UUID]]]  # heartbeat, summary, memories


class MeterRecord:
    """The rows of one episode in a store."""

    def __init__(self, store: CostStore, episode: str) -> None:
        self._store, self._episode = store, episode

    def last_heartbeat(self) -> Heartbeat | None:
        """Return the last closed heartbeat."""
        return self._store.last_heartbeat(self._episode)

    def uses(self, heartbeat: int) -> list[EnergyUse]:
        """Return the uses in an open heartbeat, and the latest of every action."""
        return self._store.uses(self._episode, heartbeat)

    def deferred(self, since: int) -> list[tuple[str, int, str]]:
        """Return action, heartbeat and reason of each deferral from a heartbeat on."""
        return [
            (row.action_considered, row.heartbeat_number, row.deferral_reason)
            for row, _ in self._store.deferrals(self._episode, since)
        ]

    def price(self, kind: str, tool: ToolEnergy) -> float:
        """Return the price in force, after entering the tool's if there is none."""
        return self._store.enter(kind, tool).cost

    def prices(self) -> dict[tuple[str, str], float]:
        """Return the prices in force by kind and name."""
        return {(row.target_type, row.target_name): row.cost for row in self._store.prices()}

    def use(
        self, number: int, heartbeat: int, action: Action, about: str | None, cost: float, notes: str,
        moment: datetime.datetime,
    ) -> None:  # fmt: skip
        """Log a paid action."""
        self._store.log_use(
            EnergyUse(
                episode=self._episode,
                number=number,
                heartbeat_number=heartbeat,
                target_type=action.kind,
                target_name=action.tool.name,
                about=about,
                intent=action.intent,
                cost=cost,
                agent_notes=notes or None,
                created_at=moment,
            )
        )

    def failed(self, number: int) -> None:
        """Mark a use as failed."""
        self._store.mark_failed(self._episode, number)

    def deferral(
        self, heartbeat: int, quote: Quote, reason: str, balance: float, similar: int, value: float | None,
        notes: str, memories: tuple[uuid.UUID, ...], moment: datetime.datetime,
    ) -> None:  # fmt: skip
        """Log a deferral with the agent's words."""
        discomfort = CostDiscomfort(
            heartbeat_number=heartbeat,
            action_considered=quote.name,
            estimated_value=value,
            energy_cost=quote.cost,
            energy_available=balance,
            deferral_reason=reason,
            agent_notes=notes or None,
            similar_deferrals_recent=similar,
            created_at=moment,
        )
        source = DeferralSource(episode=self._episode, memory_refs=list(memories) or None)
        self._store.log_discomfort(discomfort, source=source)

    def reflection(
        self, heartbeat: int, notes: str, memories: tuple[uuid.UUID, ...], moment: datetime.datetime
    ) -> uuid.UUID:
        """Log a reflection and return its id."""
        row = Reflection(
            episode=self._episode,
            heartbeat_number=heartbeat,
            agent_notes=notes or None,
            memory_refs=list(memories) or None,
            created_at=moment,
        )
        return self._store.log_reflection(row).id

    def heartbeat(
        self, number: int, times: tuple[datetime.datetime, datetime.datetime], start: float, gained: float,
        spent: dict[str, float],
    ) -> None:  # fmt: skip
        """Log a closed heartbeat."""
        opened, closed = times
        row = Heartbeat(
            episode=self._episode,
            number=number,
            opened_at=opened,
            closed_at=closed,
            energy_start=start,
            regenerated=gained,
        )
        self._store.log_heartbeat(row, spent)

    def propose(
        self, action: Action, span: tuple[float, float], rationale: str, confidence: float | None,
        memories: tuple[uuid.UUID, ...], revises: uuid.UUID | str | None,
    ) -> EnergyCostProposal:  # fmt: skip
        """File a proposal with the evidence of the record, or revise one."""
        low, high = span
        name = action.tool.name
        direction = Direction.DECREASE if low < action.price else Direction.INCREASE
        since = self._argued(name, revises) + 1
        found = self._put_off(name, since) if direction is Direction.DECREASE else self._paid(action, since)
        heartbeats = sorted({beat for beat, _, _ in found})[-MOST_EVIDENCE:]
        kept = [line for line in found if line[0] in heartbeats]
        proposal = EnergyCostProposal(
            target_type=action.kind,
            target_name=name,
            current_cost=action.price,
            suggested_min=low,
            suggested_max=high,
            direction=direction.value,
            rationale=rationale,
            confidence=usual_confidence(len(heartbeats)) if confidence is None else confidence,
            evidence=[{"source": f"heartbeat_{beat}", "summary": summary} for beat, summary, _ in kept],
            heartbeat_refs=heartbeats,
            memory_refs=_distinct([*memories, *(ref for _, _, refs in kept for ref in refs)]),
        )
        if revises is not None:
            return self._store.revise(revises, proposal)
        return self._store.file_proposal(proposal)

    def _argued(self, name: str, revises: uuid.UUID | str | None) -> int:
        """Return the last heartbeat that a proposal of this episode about an action has used up as evidence."""
        own = {row.id for row in self._store.reflections(self._episode)}
        revised = None if revises is None else self._store.proposal(revises).id
        return max(
            (
                max(row.heartbeat_refs or (0,))
                for row in self._store.proposals(target_name=name)
                if row.status != Status.WITHDRAWN and row.id != revised and own & set(row.memory_refs or ())
            ),
            default=0,
        )

    def _put_off(self, name: str, since: int) -> Evidence:
        return [
            (
                row.heartbeat_number,
                _sentence(
                    f"put off ({row.deferral_reason}): cost {plain(row.energy_cost)}, "
                    f"{plain(row.energy_available)} left",
                    "" if row.estimated_value is None else f"worth {plain(row.estimated_value)}",
                    row.agent_notes,
                ),
                list(source.memory_refs or ()),
            )
            for row, source in self._store.deferrals(self._episode, since)
            if row.action_considered == name
        ]

    def _paid(self, action: Action, since: int) -> Evidence:
        beats: dict[int, list[EnergyUse]] = {}
        for use in self._store.uses(self._episode, since, action.tool.name):
            if use.heartbeat_number >= since:
                beats.setdefault(use.heartbeat_number, []).append(use)
        return [
            (
                beat,
                _sentence(
                    f"done {len(uses)} times for {plain(sum(use.cost for use in uses))}",
                    *(use.agent_notes for use in uses),
                ),
                [],
            )
            for beat, uses in beats.items()
        ]


def _sentence(*parts: str | None) -> str:
    return "; ".join(part for part in parts if part)


def _distinct(refs: Iterable[uuid.UUID]) -> list[uuid.UUID]:
    return list(dict.fromkeys(refs))
