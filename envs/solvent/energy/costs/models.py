"""The tables: the source's three, the prices' history, heartbeats with their intent summaries, and origins.

Columns, types, defaults and indexes of ``energy_cost_proposals``, ``cost_discomfort_log`` and of the energy columns of
``mcp_tools`` are the source's (*Action Cost: The Energy Model*, "Schema"). On PostgreSQL they are native (UUID, JSONB,
INT[], UUID[], TEXT[], TIMESTAMPTZ); SQLite keeps JSON, arrays as JSON, UUIDs as 32 hexadecimal digits and times as text
in UTC. These classes describe the tables to Python; the migrations make them, with the checks and triggers.

All energies are in the units of the lab's budget, all times are UTC with a zone.
"""

from __future__ import annotations

import datetime
import uuid
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

__all__ = [
    "Base",
    "CostDiscomfort",
    "EnergyCost",
    "EnergyCostProposal",
    "Heartbeat",
    "IntentSummary",
    "LedgerLine",
    "McpTool",
    "UtcDateTime",
    "UuidList",
]


class UtcDateTime(sa.TypeDecorator[datetime.datetime]):
    """A moment in UTC. SQLite knows no zones: there it is kept as UTC and read back as such."""

    impl = sa.DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(
        self, value: datetime.datetime | None, dialect: sa.Dialect
    ) -> datetime.datetime | None:
        """Refuse a time without a zone; SQLite gets UTC without one."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"got {value.isoformat()} without a zone; allowed: a time with one")
        moment = value.astimezone(datetime.UTC)
        return moment.replace(tzinfo=None) if dialect.name == "sqlite" else moment

    def process_result_value(
        self,
        value: datetime.datetime | None,
        dialect: sa.Dialect,  # noqa: ARG002
    ) -> datetime.datetime | None:
        """The moment, in UTC."""
        if value is None:
            return None
        return value.replace(tzinfo=datetime.UTC) if value.tzinfo is None else value.astimezone(datetime.UTC)


class UuidList(sa.TypeDecorator[list[uuid.UUID]]):
    """``UUID[]`` on PostgreSQL, a JSON list of texts elsewhere."""

    impl = sa.JSON(none_as_null=True)
    cache_ok = True

    def load_dialect_impl(self, dialect: sa.Dialect) -> sa.types.TypeEngine[Any]:
        """The type of the dialect."""
        if dialect.name == "postgresql":
            return dialect.type_descriptor(postgresql.ARRAY(sa.Uuid()))
        return dialect.type_descriptor(sa.JSON(none_as_null=True))

    def process_bind_param(self, value: list[uuid.UUID] | None, dialect: sa.Dialect) -> Any:
        """UUIDs as the dialect takes them."""
        if value is None or dialect.name == "postgresql":
            return value
        return [str(item) for item in value]

    def process_result_value(self, value: Any, dialect: sa.Dialect) -> list[uuid.UUID] | None:  # noqa: ARG002
        """UUIDs."""
        return None if value is None else [uuid.UUID(str(item)) for item in value]


JSON = sa.JSON(none_as_null=True).with_variant(postgresql.JSONB(none_as_null=True), "postgresql")
INTS = sa.JSON(none_as_null=True).with_variant(postgresql.ARRAY(sa.Integer()), "postgresql")
TEXTS = sa.JSON(none_as_null=True).with_variant(postgresql.ARRAY(sa.Text()), "postgresql")

_BY_DATABASE = sa.FetchedValue()


class Base(DeclarativeBase):
    """All tables of the store."""


class EnergyCostProposal(Base):
    """An argument that a cost should change, and what became of it."""

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
    )

    id: Mapped[uuid.UUID] = mapped_column(sa.Uuid, primary_key=True, server_default=_BY_DATABASE)
    target_type: Mapped[str] = mapped_column(sa.Text)
    target_name: Mapped[str] = mapped_column(sa.Text)
    current_cost: Mapped[float] = mapped_column(sa.Float)
    suggested_min: Mapped[float] = mapped_column(sa.Float)
    suggested_max: Mapped[float] = mapped_column(sa.Float)
    direction: Mapped[str] = mapped_column(sa.Text)
    rationale: Mapped[str] = mapped_column(sa.Text)
    confidence: Mapped[float] = mapped_column(sa.Float)
    evidence: Mapped[list[dict[str, str]]] = mapped_column(JSON, server_default=_BY_DATABASE)
    heartbeat_refs: Mapped[list[int] | None] = mapped_column(INTS)
    memory_refs: Mapped[list[uuid.UUID] | None] = mapped_column(UuidList)
    status: Mapped[str] = mapped_column(sa.Text, server_default=_BY_DATABASE)
    created_at: Mapped[datetime.datetime] = mapped_column(UtcDateTime, server_default=_BY_DATABASE)
    reviewed_at: Mapped[datetime.datetime | None] = mapped_column(UtcDateTime)
    reviewed_by: Mapped[str | None] = mapped_column(sa.Text)
    review_notes: Mapped[str | None] = mapped_column(sa.Text)
    old_cost: Mapped[float | None] = mapped_column(sa.Float)
    new_cost: Mapped[float | None] = mapped_column(sa.Float)
    effective_at: Mapped[datetime.datetime | None] = mapped_column(UtcDateTime)

    @property
    def target(self) -> str:
        """As a person would say it: ``action screen``, ``tool slack:send_message``."""
        return f"{'tool' if self.target_type == 'mcp_tool' else self.target_type} {self.target_name}"


class EnergyCost(Base):
    """One price of one target: the registration (revision 0), then one row for every approval. The last is in force."""

    __tablename__ = "energy_costs"

    target_type: Mapped[str] = mapped_column(sa.Text, primary_key=True)
    target_name: Mapped[str] = mapped_column(sa.Text, primary_key=True)
    revision: Mapped[int] = mapped_column(sa.Integer, primary_key=True, autoincrement=False)
    cost: Mapped[float] = mapped_column(sa.Float)
    floor: Mapped[float] = mapped_column(sa.Float)
    ceiling: Mapped[float | None] = mapped_column(sa.Float)
    category: Mapped[str | None] = mapped_column(sa.Text)
    effective_at: Mapped[datetime.datetime] = mapped_column(UtcDateTime, server_default=_BY_DATABASE)
    proposal_id: Mapped[uuid.UUID | None] = mapped_column(
        sa.Uuid, sa.ForeignKey("energy_cost_proposals.id"), unique=True
    )


class CostDiscomfort(Base):
    """An action that was worth taking and was deferred for its cost."""

    __tablename__ = "cost_discomfort_log"
    __table_args__ = (
        sa.Index("idx_discomfort_action", "action_considered"),
        sa.Index("idx_discomfort_heartbeat", "heartbeat_number"),
    )

    id: Mapped[uuid.UUID] = mapped_column(sa.Uuid, primary_key=True, server_default=_BY_DATABASE)
    heartbeat_number: Mapped[int] = mapped_column(sa.Integer)
    action_considered: Mapped[str] = mapped_column(sa.Text)
    estimated_value: Mapped[float | None] = mapped_column(sa.Float)
    energy_cost: Mapped[float] = mapped_column(sa.Float)
    energy_available: Mapped[float] = mapped_column(sa.Float)
    deferral_reason: Mapped[str] = mapped_column(sa.Text)
    agent_notes: Mapped[str | None] = mapped_column(sa.Text)
    similar_deferrals_recent: Mapped[int | None] = mapped_column(sa.Integer, server_default=_BY_DATABASE)
    created_at: Mapped[datetime.datetime] = mapped_column(UtcDateTime, server_default=_BY_DATABASE)


class McpTool(Base):
    """A discovered tool and what using it costs. The five energy columns are the source's."""

    __tablename__ = "mcp_tools"

    id: Mapped[uuid.UUID] = mapped_column(sa.Uuid, primary_key=True, server_default=_BY_DATABASE)
    name: Mapped[str] = mapped_column(sa.Text, unique=True)
    description: Mapped[str | None] = mapped_column(sa.Text)
    energy_cost: Mapped[float | None] = mapped_column(sa.Float, server_default=_BY_DATABASE)
    energy_cost_category: Mapped[str | None] = mapped_column(sa.Text)
    energy_cost_factors: Mapped[dict[str, Any] | None] = mapped_column(JSON)
    energy_cost_floor: Mapped[float | None] = mapped_column(sa.Float)
    allowed_contexts: Mapped[list[str] | None] = mapped_column(TEXTS, server_default=_BY_DATABASE)


class Heartbeat(Base):
    """The books of one heartbeat: start + regenerated - spent = end."""

    __tablename__ = "heartbeats"
    __table_args__ = (sa.UniqueConstraint("episode", "number", name="uq_heartbeats_episode_number"),)

    id: Mapped[uuid.UUID] = mapped_column(sa.Uuid, primary_key=True, server_default=_BY_DATABASE)
    episode: Mapped[str] = mapped_column(sa.Text)
    number: Mapped[int] = mapped_column(sa.Integer)
    opened_at: Mapped[datetime.datetime] = mapped_column(UtcDateTime)
    closed_at: Mapped[datetime.datetime] = mapped_column(UtcDateTime)
    energy_start: Mapped[float] = mapped_column(sa.Float)
    regenerated: Mapped[float] = mapped_column(sa.Float)
    spent: Mapped[float] = mapped_column(sa.Float)
    energy_end: Mapped[float] = mapped_column(sa.Float)


class IntentSummary(Base):
    """Energy that one intent class took in one heartbeat."""

    __tablename__ = "intent_summaries"

    heartbeat_id: Mapped[uuid.UUID] = mapped_column(sa.Uuid, sa.ForeignKey("heartbeats.id"), primary_key=True)
    intent: Mapped[str] = mapped_column(sa.Text, primary_key=True)
    energy: Mapped[float] = mapped_column(sa.Float)


class LedgerLine(Base):
    """Which line of which environment's ledger a row came from, so that a ledger can be read in twice."""

    __tablename__ = "ledger_lines"

    digest: Mapped[str] = mapped_column(sa.Text, primary_key=True)
    ledger: Mapped[str] = mapped_column(sa.Text)
    line: Mapped[int] = mapped_column(sa.Integer)
    design_id: Mapped[str | None] = mapped_column(sa.Text)
    logged_at: Mapped[str | None] = mapped_column(sa.Text)
    proposal_id: Mapped[uuid.UUID | None] = mapped_column(
        sa.Uuid, sa.ForeignKey("energy_cost_proposals.id"), unique=True
    )
    discomfort_id: Mapped[uuid.UUID | None] = mapped_column(
        sa.Uuid, sa.ForeignKey("cost_discomfort_log.id"), unique=True
    )
