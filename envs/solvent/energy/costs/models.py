"""The tables of prices and proposals as dataclasses, whose arguments are the columns that the caller fills.

Columns, types, defaults and indexes of ``energy_cost_proposals`` and the energy columns of ``mcp_tools`` are the
source's (*Action Cost: The Energy Model*, "Schema"). Checks and triggers are in ``migrations/versions``; the rules of
filing and review are in ``rules.py``. Energies are in the units of the budget, times are UTC.
"""

from __future__ import annotations

import datetime
import uuid
from typing import Any, ClassVar

import sqlalchemy as sa
from sqlalchemy.orm import DeclarativeBase, Mapped, MappedAsDataclass, mapped_column

from solvent.energy.costs.columns import INTS, JSON, NEW_UUID, NOW, TEXTS, UUIDS, BySql, Number, UtcDateTime

__all__ = ["Base", "EnergyCost", "EnergyCostProposal", "LedgerLine", "McpTool"]


class Base(MappedAsDataclass, DeclarativeBase, eq=False):
    """Base class of the tables."""

    type_annotation_map: ClassVar = {
        str: sa.Text(),
        float: Number(),
        datetime.datetime: UtcDateTime(),
        dict[str, Any]: JSON,
        list[dict[str, str]]: JSON,
        list[int]: INTS,
        list[str]: TEXTS,
        list[uuid.UUID]: UUIDS,
    }


class EnergyCostProposal(Base, kw_only=True):
    """An argument for another cost, and its review.

    Attributes:
        target_type: ``action`` or ``mcp_tool``.
        target_name: the verb or tool, which has a price.
        current_cost: the cost that the agent paid, energy.
        suggested_min: lower end of the suggested range, energy; at least the floor.
        suggested_max: upper end of the suggested range, energy; at most the ceiling.
        direction: ``increase`` or ``decrease``.
        rationale: the argument.
        confidence: the agent's confidence in it, 0 to 1.
        evidence: at least one ``{"source": ..., "summary": ...}``.
        heartbeat_refs: the heartbeats of the evidence, at least two.
        memory_refs: memories that support the argument; one of them is a ``Reflection``.
        status: ``pending``, ``approved``, ``rejected`` or ``withdrawn``.
        old_cost: the cost before the change, if approved.
        new_cost: the cost after it.
        effective_at: when it took effect.
    """

    __tablename__ = "energy_cost_proposals"
    __table_args__ = (
        sa.Index("idx_proposals_status", "status"),
        sa.Index("idx_proposals_target", "target_type", "target_name"),
        sa.Index(
            "idx_proposals_one_pending",
            "target_type",
            "target_name",
            unique=True,
            sqlite_where=sa.text("status = 'pending'"),
            postgresql_where=sa.text("status = 'pending'"),
        ),
        sa.UniqueConstraint("id", "target_type", "target_name", "new_cost", name="uq_proposals_new_cost"),
    )

    id: Mapped[uuid.UUID] = mapped_column(primary_key=True, server_default=NEW_UUID, init=False)
    target_type: Mapped[str]
    target_name: Mapped[str]
    current_cost: Mapped[float]
    suggested_min: Mapped[float]
    suggested_max: Mapped[float]
    direction: Mapped[str]
    rationale: Mapped[str]
    confidence: Mapped[float]
    evidence: Mapped[list[dict[str, str]]] = mapped_column(server_default=sa.text("'[]'"))
    heartbeat_refs: Mapped[list[int] | None] = mapped_column(default=None)
    memory_refs: Mapped[list[uuid.UUID] | None] = mapped_column(default=None)
    status: Mapped[str] = mapped_column(server_default=sa.text("'pending'"), init=False)
    created_at: Mapped[datetime.datetime] = mapped_column(server_default=NOW, init=False)
    reviewed_at: Mapped[datetime.datetime | None] = mapped_column(init=False)
    reviewed_by: Mapped[str | None] = mapped_column(init=False)
    review_notes: Mapped[str | None] = mapped_column(init=False)
    old_cost: Mapped[float | None] = mapped_column(init=False)
    new_cost: Mapped[float | None] = mapped_column(init=False)
    effective_at: Mapped[datetime.datetime | None] = mapped_column(init=False)

    @property
    def target(self) -> str:
        """The target as text, such as ``action screen`` or ``tool slack:send_message``."""
        return f"{'tool' if self.target_type == 'mcp_tool' else self.target_type} {self.target_name}"


class EnergyCost(Base, kw_only=True):
    """One price of one target. Revision 0 is the registration, later ones are approvals; the last is in force.

    Attributes:
        floor: lowest cost ever allowed, energy; at least 6 for a public, 5 for a destructive, 3 for a private action.
        ceiling: highest cost ever allowed, energy, or None.
        category: the category of a tool, or ``action``.
    """

    __tablename__ = "energy_costs"
    __table_args__ = (
        # A later price equals an approval's: proposals have a new cost only when they are approved.
        sa.ForeignKeyConstraint(
            ["proposal_id", "target_type", "target_name", "cost"],
            [f"energy_cost_proposals.{name}" for name in ("id", "target_type", "target_name", "new_cost")],
            name="fk_energy_costs_approval",
        ),
    )

    target_type: Mapped[str] = mapped_column(primary_key=True)
    target_name: Mapped[str] = mapped_column(primary_key=True)
    revision: Mapped[int] = mapped_column(primary_key=True, autoincrement=False, default=0)
    cost: Mapped[float]
    floor: Mapped[float] = mapped_column(default=0.0)
    ceiling: Mapped[float | None] = mapped_column(default=None)
    category: Mapped[str | None] = mapped_column(default=None)
    effective_at: Mapped[datetime.datetime] = mapped_column(server_default=NOW, init=False)
    proposal_id: Mapped[uuid.UUID | None] = mapped_column(unique=True, default=None)


class McpTool(Base, kw_only=True):
    """A discovered tool and its cost. The five energy columns are the source's."""

    __tablename__ = "mcp_tools"

    id: Mapped[uuid.UUID] = mapped_column(primary_key=True, server_default=NEW_UUID, init=False)
    name: Mapped[str] = mapped_column(unique=True)
    description: Mapped[str | None] = mapped_column(default=None)
    energy_cost: Mapped[float | None] = mapped_column(server_default=sa.text("2.0"))
    energy_cost_category: Mapped[str | None]
    energy_cost_factors: Mapped[dict[str, Any] | None]
    energy_cost_floor: Mapped[float | None]
    allowed_contexts: Mapped[list[str] | None] = mapped_column(
        server_default=BySql(sqlite="'[\"chat\"]'", postgresql="ARRAY['chat']")
    )


class LedgerLine(Base, kw_only=True):
    """The ledger line behind a row, recorded so that a ledger can be read again."""

    __tablename__ = "ledger_lines"

    digest: Mapped[str] = mapped_column(primary_key=True)
    ledger: Mapped[str]
    line: Mapped[int]
    design_id: Mapped[str | None]
    logged_at: Mapped[str | None]
    proposal_id: Mapped[uuid.UUID | None] = mapped_column(
        sa.ForeignKey("energy_cost_proposals.id"), unique=True, init=False
    )
    discomfort_id: Mapped[uuid.UUID | None] = mapped_column(
        sa.ForeignKey("cost_discomfort_log.id"), unique=True, init=False
    )
