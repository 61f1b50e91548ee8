"""The tables of an agent's record as dataclasses: uses, deferrals, reflections, heartbeats and their intents.

Columns, types, defaults and indexes of ``cost_discomfort_log`` are the source's (*Action Cost: The Energy Model*,
"Schema"). Its memories and the agent it belongs to, for which the source has no column, are in ``deferral_sources``.
Checks are in ``migrations/versions``. Energies are in the units of the budget, times are UTC.
"""

from __future__ import annotations

import datetime
import uuid

import sqlalchemy as sa
from sqlalchemy.orm import Mapped, mapped_column

from solvent.energy.costs.columns import NEW_UUID, NOW
from solvent.energy.costs.models import Base

__all__ = ["CostDiscomfort", "DeferralSource", "EnergyUse", "Heartbeat", "IntentSummary", "Reflection"]


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


class EnergyUse(Base, kw_only=True):
    """An action that was paid for.

    Attributes:
        episode: label of the agent, run or episode.
        number: index of the use in the episode, from 1. Two meters that write to one episode collide here.
        heartbeat_number: heartbeat in which it was paid.
        target_type: ``action`` or ``mcp_tool``.
        about: subject of the action; a second use with the same subject in a heartbeat is similar.
        cost: effective cost, energy.
        failed: the action failed; its cost is spent all the same.
        agent_notes: the agent's own words.
    """

    __tablename__ = "energy_uses"
    __table_args__ = (sa.Index("idx_energy_uses_target", "episode", "target_name", "number"),)

    episode: Mapped[str] = mapped_column(primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    heartbeat_number: Mapped[int]
    target_type: Mapped[str]
    target_name: Mapped[str]
    about: Mapped[str | None] = mapped_column(default=None)
    intent: Mapped[str]
    cost: Mapped[float]
    failed: Mapped[bool] = mapped_column(default=False)
    agent_notes: Mapped[str | None] = mapped_column(default=None)
    created_at: Mapped[datetime.datetime] = mapped_column(server_default=NOW, default_factory=_now)


class CostDiscomfort(Base, kw_only=True):
    """A worthwhile action that was deferred because of its cost.

    Attributes:
        action_considered: the deferred action.
        estimated_value: the agent's estimate, in its own units (bits in the lab).
        energy_cost: its cost, energy.
        energy_available: the balance at that time, energy.
        deferral_reason: ``insufficient_energy``, ``cost_benefit`` or ``hoarding``.
        agent_notes: the agent's own words.
        similar_deferrals_recent: similar deferrals in the last heartbeats.
        created_at: by default now.
    """

    __tablename__ = "cost_discomfort_log"
    __table_args__ = (
        sa.Index("idx_discomfort_action", "action_considered"),
        sa.Index("idx_discomfort_heartbeat", "heartbeat_number"),
    )

    id: Mapped[uuid.UUID] = mapped_column(primary_key=True, server_default=NEW_UUID, init=False)
    heartbeat_number: Mapped[int]
    action_considered: Mapped[str]
    estimated_value: Mapped[float | None] = mapped_column(default=None)
    energy_cost: Mapped[float]
    energy_available: Mapped[float]
    deferral_reason: Mapped[str]
    agent_notes: Mapped[str | None] = mapped_column(default=None)
    similar_deferrals_recent: Mapped[int | None] = mapped_column(server_default=sa.text("0"), default=0)
    created_at: Mapped[datetime.datetime] = mapped_column(server_default=NOW, default_factory=_now)


class DeferralSource(Base, kw_only=True):
    """The episode that a deferral belongs to, and the agent's memories behind it."""

    __tablename__ = "deferral_sources"

    discomfort_id: Mapped[uuid.UUID] = mapped_column(
        sa.ForeignKey("cost_discomfort_log.id"), primary_key=True, init=False
    )
    episode: Mapped[str] = mapped_column(index=True)
    memory_refs: Mapped[list[uuid.UUID] | None] = mapped_column(default=None)


class Reflection(Base, kw_only=True):
    """A reflection: the agent's own observation on its energy. Its id is a memory that a proposal refers to.

    Attributes:
        episode: label of the agent, run or episode.
        heartbeat_number: heartbeat of the reflection.
        agent_notes: the agent's own words.
        memory_refs: memories that it rests on.
    """

    __tablename__ = "reflections"
    __table_args__ = (sa.Index("idx_reflections_episode", "episode", "heartbeat_number"),)

    id: Mapped[uuid.UUID] = mapped_column(primary_key=True, server_default=NEW_UUID, init=False)
    episode: Mapped[str]
    heartbeat_number: Mapped[int]
    agent_notes: Mapped[str | None] = mapped_column(default=None)
    memory_refs: Mapped[list[uuid.UUID] | None] = mapped_column(default=None)
    created_at: Mapped[datetime.datetime] = mapped_column(server_default=NOW, default_factory=_now)


class Heartbeat(Base, kw_only=True):
    """The energy of one heartbeat: start + regenerated - spent = end.

    Attributes:
        episode: label of the agent, run or episode.
        number: number of the heartbeat in the episode.
        regenerated: income less the loss to the cap, energy.
    """

    __tablename__ = "heartbeats"
    __table_args__ = (sa.UniqueConstraint("episode", "number", name="uq_heartbeats_episode_number"),)

    id: Mapped[uuid.UUID] = mapped_column(primary_key=True, server_default=NEW_UUID, init=False)
    episode: Mapped[str]
    number: Mapped[int]
    opened_at: Mapped[datetime.datetime]
    closed_at: Mapped[datetime.datetime]
    energy_start: Mapped[float]
    regenerated: Mapped[float]
    spent: Mapped[float] = mapped_column(init=False)
    energy_end: Mapped[float] = mapped_column(init=False)


class IntentSummary(Base, kw_only=True):
    """Energy spent on one intent class in one heartbeat."""

    __tablename__ = "intent_summaries"

    heartbeat_id: Mapped[uuid.UUID] = mapped_column(sa.ForeignKey("heartbeats.id"), primary_key=True)
    intent: Mapped[str] = mapped_column(primary_key=True)
    energy: Mapped[float]
