"""The source's three tables and the prices, as SQLAlchemy models for SQLite and PostgreSQL.

Columns, types, defaults and indexes of ``energy_cost_proposals``, ``cost_discomfort_log`` and the energy columns of
``mcp_tools`` are the source's (*Action Cost: The Energy Model*, "Schema"); ``energy_costs``, the history of prices, is
ours. CHECK constraints keep what a row may hold, the triggers of ``triggers.py`` how rows follow each other; the rules
are in ``rules.py``. SQLite stores UUIDs as 32
hexadecimal digits, arrays and JSON as JSON, and times as text in UTC. Energies are in units of the budget.
"""

from __future__ import annotations

import datetime
import uuid
from typing import Any, ClassVar

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from solvent.energy.pricing import ACTION, CATEGORIES, MOST_ENERGY
from solvent.files import now

__all__ = ["Base", "CostDiscomfort", "EnergyCost", "EnergyCostProposal", "McpTool"]


class _BySql(sa.ColumnElement[Any]):
    """A default with separate SQL for each database."""

    def __init__(self, sqlite: str, postgresql: str) -> None:
        self.texts = {"sqlite": sqlite, "postgresql": postgresql}


@compiles(_BySql)
def _text(element: _BySql, compiler: sa.Compiled, **_: Any) -> str:
    return element.texts[compiler.dialect.name]


class _UtcDateTime(sa.TypeDecorator[datetime.datetime]):
    """A moment in UTC. SQLite has no time zones, so its column holds the UTC time."""

    impl = sa.DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime.datetime | None, _: sa.Dialect) -> Any:
        return value and value.astimezone(datetime.UTC)

    def process_result_value(self, value: datetime.datetime | None, _: sa.Dialect) -> Any:
        return value and (
            value.astimezone(datetime.UTC) if value.tzinfo else value.replace(tzinfo=datetime.UTC)
        )


def _json(postgresql_type: Any) -> Any:
    return sa.JSON(none_as_null=True).with_variant(postgresql_type, "postgresql")


class Base(DeclarativeBase):
    """Base class of the tables."""

    type_annotation_map: ClassVar = {
        str: sa.Text(),
        datetime.datetime: _UtcDateTime(),
        dict[str, Any]: _json(postgresql.JSONB(none_as_null=True)),
        list[dict[str, str]]: _json(postgresql.JSONB()),
        list[int]: _json(postgresql.ARRAY(sa.Integer())),
        list[str]: _json(postgresql.ARRAY(sa.Text())),
        list[uuid.UUID]: _json(postgresql.ARRAY(sa.Uuid(as_uuid=False))),
    }

    def as_row(self) -> dict[str, Any]:
        """Return the columns by name, in the order of the table."""
        return {column.key: getattr(self, column.key) for column in self.__table__.columns}


def _new_id() -> Any:
    default = _BySql("(lower(hex(randomblob(16))))", "gen_random_uuid()")
    return mapped_column(primary_key=True, default=uuid.uuid4, server_default=default)


def _checks(*conditions: str) -> list[sa.CheckConstraint]:
    return [sa.CheckConstraint(condition) for condition in conditions]


def _required(condition: str) -> sa.CheckConstraint:
    """Return a CHECK that does not hold where the condition is NULL, as a bare one would."""
    return sa.CheckConstraint(f"coalesce({condition.format('')}, 1 = 0)")


def _energies(*columns: str) -> list[sa.CheckConstraint]:
    # PostgreSQL's NaN is greater than every number, SQLite's is NULL.
    return _checks(*(f"{name} >= 0 AND {name} <= {MOST_ENERGY}" for name in columns))


def _floor_of_category(category: str, floor: str) -> str:
    """Return the condition that a category is a known one and that its floor is kept."""
    known = {ACTION: 0.0} | {name: row.floor or 0.0 for name, row in CATEGORIES.items()}
    return " OR ".join(
        f"{category} = '{name}' AND coalesce({floor}, 0) >= {least}" for name, least in known.items()
    )


CATEGORY_HAS_ITS_FLOOR = _floor_of_category("{0}category", "{0}floor")
"""Condition on a row of ``energy_costs``; ``{0}`` is empty or names the row, as in ``NEW.``."""

TOOL_HAS_ITS_FLOOR = (
    f"{{0}}energy_cost IS NOT NULL AND ({_floor_of_category('{0}energy_cost_category', '{0}energy_cost_floor')})"
    " OR {0}energy_cost_category IS NULL AND {0}energy_cost_floor IS NULL AND {0}energy_cost = 2.0"
)
"""The same for ``mcp_tools``; a tool that nobody has priced yet has the source's default, 2."""

_TARGET_TYPE = "target_type IN ('action', 'mcp_tool')"


class EnergyCostProposal(Base):
    """An argument for another cost, and its review; ``status`` is pending, approved, rejected or withdrawn."""

    __tablename__ = "energy_cost_proposals"
    __table_args__ = (
        sa.Index("idx_proposals_status", "status"),
        sa.Index("idx_proposals_target", "target_type", "target_name"),
        sa.Index(
            "idx_proposals_one_pending", "target_type", "target_name", unique=True,
            sqlite_where=sa.text("status = 'pending'"), postgresql_where=sa.text("status = 'pending'"),
        ),
        *_energies("current_cost", "suggested_min", "suggested_max"),
        *_checks(
            _TARGET_TYPE,
            "direction IN ('increase', 'decrease')",
            "status IN ('pending', 'approved', 'rejected', 'withdrawn')",
            "reviewed_by IN ('user', 'system', 'timeout')",
            "confidence BETWEEN 0 AND 1",
            "suggested_min < suggested_max",
            "(status = 'pending') = (reviewed_at IS NULL) AND (status = 'pending') = (reviewed_by IS NULL)",
            "(status = 'approved') = (old_cost IS NOT NULL)",
            "(status = 'approved') = (new_cost IS NOT NULL)",
            "new_cost BETWEEN suggested_min AND suggested_max",
        ),
    )  # fmt: skip

    id: Mapped[uuid.UUID] = _new_id()
    target_type: Mapped[str]
    target_name: Mapped[str]
    current_cost: Mapped[float]
    suggested_min: Mapped[float]
    suggested_max: Mapped[float]
    direction: Mapped[str]
    rationale: Mapped[str]
    confidence: Mapped[float]
    evidence: Mapped[list[dict[str, str]]] = mapped_column(server_default=sa.text("'[]'"))
    heartbeat_refs: Mapped[list[int] | None]
    memory_refs: Mapped[list[uuid.UUID] | None]  # as texts
    status: Mapped[str] = mapped_column(default="pending", server_default=sa.text("'pending'"))
    created_at: Mapped[datetime.datetime] = mapped_column(default=now, server_default=sa.func.now())
    reviewed_at: Mapped[datetime.datetime | None]
    reviewed_by: Mapped[str | None]
    review_notes: Mapped[str | None]
    old_cost: Mapped[float | None]
    new_cost: Mapped[float | None]
    effective_at: Mapped[datetime.datetime | None]

    @property
    def target(self) -> str:
        """The target as text, such as ``action screen`` or ``tool slack:send_message``."""
        return f"{'tool' if self.target_type == 'mcp_tool' else self.target_type} {self.target_name}"

    @property
    def change(self) -> str:
        """The change as text, such as ``action screen: decrease to 2 – 3``."""
        return f"{self.target}: {self.direction} to {self.suggested_min:g} – {self.suggested_max:g}"


class CostDiscomfort(Base):
    """A deferral; the columns are those of ``rules.Discomfort``."""

    __tablename__ = "cost_discomfort_log"
    __table_args__ = (
        sa.Index("idx_discomfort_action", "action_considered"),
        sa.Index("idx_discomfort_heartbeat", "heartbeat_number"),
        *_energies("energy_cost", "energy_available"),
        *_checks(
            "deferral_reason IN ('insufficient_energy', 'cost_benefit', 'hoarding')",
            "similar_deferrals_recent >= 0",
        ),
    )

    id: Mapped[uuid.UUID] = _new_id()
    heartbeat_number: Mapped[int]
    action_considered: Mapped[str]
    estimated_value: Mapped[float | None]
    energy_cost: Mapped[float]
    energy_available: Mapped[float]
    deferral_reason: Mapped[str]
    agent_notes: Mapped[str | None]
    similar_deferrals_recent: Mapped[int | None] = mapped_column(server_default=sa.text("0"))
    created_at: Mapped[datetime.datetime] = mapped_column(default=now, server_default=sa.func.now())


class McpTool(Base):
    """A discovered tool. The five energy columns are the source's."""

    __tablename__ = "mcp_tools"
    __table_args__ = (
        *_energies("energy_cost", "energy_cost_floor"),
        *_checks("energy_cost >= coalesce(energy_cost_floor, 0)"),
        _required(TOOL_HAS_ITS_FLOOR),
    )

    id: Mapped[uuid.UUID] = _new_id()
    name: Mapped[str] = mapped_column(unique=True)
    energy_cost: Mapped[float | None] = mapped_column(server_default=sa.text("2.0"))
    energy_cost_category: Mapped[str | None]
    energy_cost_factors: Mapped[dict[str, Any] | None]
    energy_cost_floor: Mapped[float | None]
    allowed_contexts: Mapped[list[str] | None] = mapped_column(
        server_default=_BySql("'[\"chat\"]'", "ARRAY['chat']")
    )


class EnergyCost(Base):
    """One price of one target. Revision 0 is the registration, later ones are approvals; the last is in force."""

    __tablename__ = "energy_costs"
    __table_args__ = (
        *_energies("cost", "floor"),
        *_checks(_TARGET_TYPE, "(revision = 0) = (proposal_id IS NULL)", "cost >= floor", "cost <= ceiling"),
        _required(CATEGORY_HAS_ITS_FLOOR),
    )

    target_type: Mapped[str] = mapped_column(primary_key=True)
    target_name: Mapped[str] = mapped_column(primary_key=True)
    revision: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    cost: Mapped[float]
    floor: Mapped[float]
    ceiling: Mapped[float | None]
    category: Mapped[str]
    effective_at: Mapped[datetime.datetime] = mapped_column(default=now, server_default=sa.func.now())
    proposal_id: Mapped[uuid.UUID | None] = mapped_column(
        sa.ForeignKey("energy_cost_proposals.id"), unique=True
    )
