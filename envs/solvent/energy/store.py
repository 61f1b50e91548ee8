"""The store of prices, proposals and deferrals, in SQLite or PostgreSQL.

The agent's side files proposals, which changes no cost; the human's side reviews them. Every operation is one
transaction, and a writing one holds a lock, of the file in SQLite and an advisory one in PostgreSQL, so exactly one of
several reviewers wins. Needs the extra ``store``.

Columns, types, defaults and indexes of ``energy_cost_proposals``, ``cost_discomfort_log`` and the energy columns of
``mcp_tools`` are the source's (*Action Cost: The Energy Model*, "Schema"); ``energy_costs``, the history of prices, is
ours. CHECK constraints keep what no rule may change; the rules are in ``rules.py``. SQLite stores UUIDs as 32
hexadecimal digits, arrays and JSON as JSON, and times as text in UTC. Energies are in units of the budget.
"""

from __future__ import annotations

import datetime
import os
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, Self

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql
from sqlalchemy.exc import IntegrityError, SQLAlchemyError
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, sessionmaker

from solvent.energy.pricing import CATEGORIES, MOST_ENERGY, ToolEnergy, energy_for_verb
from solvent.energy.rules import Discomfort, Proposal, ProposalError, StoreError, approved_cost, check_filing
from solvent.files import now
from solvent.lab.actions import offered_verbs
from solvent.lab.params import LabParams
from solvent.lab.verbs import VERBS

__all__ = ["CostDiscomfort", "CostStore", "EnergyCost", "EnergyCostProposal", "McpTool"]

_PATIENCE = 30.0
"""Seconds to wait for another writer."""


# -- tables --------------------------------------------------------------------------------------


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

    def process_bind_param(self, value: datetime.datetime | None, dialect: sa.Dialect) -> Any:  # noqa: ARG002
        return value and value.astimezone(datetime.UTC)

    def process_result_value(self, value: datetime.datetime | None, dialect: sa.Dialect) -> Any:  # noqa: ARG002
        return value and (value if value.tzinfo else value.replace(tzinfo=datetime.UTC)).astimezone(
            datetime.UTC
        )


def _array(of: Any) -> Any:
    return sa.JSON(none_as_null=True).with_variant(postgresql.ARRAY(of), "postgresql")


class Base(DeclarativeBase):
    """Base class of the tables."""

    type_annotation_map: ClassVar = {
        str: sa.Text(),
        datetime.datetime: _UtcDateTime(),
        dict[str, Any]: sa.JSON(none_as_null=True).with_variant(
            postgresql.JSONB(none_as_null=True), "postgresql"
        ),
        list[dict[str, str]]: sa.JSON().with_variant(postgresql.JSONB(), "postgresql"),
        list[int]: _array(sa.Integer()),
        list[str]: _array(sa.Text()),
        list[uuid.UUID]: _array(sa.Uuid(as_uuid=False)),
    }

    def as_row(self) -> dict[str, Any]:
        """Return the columns by name, in the order of the table."""
        return {column.key: getattr(self, column.key) for column in self.__table__.columns}


def _new_id() -> Any:
    default = _BySql("(lower(hex(randomblob(16))))", "gen_random_uuid()")
    return mapped_column(primary_key=True, default=uuid.uuid4, server_default=default)


def _checks(*conditions: str) -> list[sa.CheckConstraint]:
    return [sa.CheckConstraint(condition) for condition in conditions]


def _energies(*columns: str) -> list[sa.CheckConstraint]:
    # PostgreSQL's NaN is greater than every number, SQLite's is NULL.
    return _checks(*(f"{name} >= 0 AND {name} <= {MOST_ENERGY}" for name in columns))


def _floors(category: str, floor: str) -> list[sa.CheckConstraint]:
    """What is never cheap has its floor."""
    floors = {name: row.floor for name, row in CATEGORIES.items() if row.floor}
    return _checks(
        *(f"{category} <> '{name}' OR coalesce({floor}, 0) >= {least}" for name, least in floors.items())
    )


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
            "suggested_min <= suggested_max",
            "(status = 'pending') = (reviewed_at IS NULL) AND (status = 'pending') = (reviewed_by IS NULL)",
            "(status = 'approved') = (new_cost IS NOT NULL AND old_cost IS NOT NULL)",
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
        *_floors("energy_cost_category", "energy_cost_floor"),
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
        *_floors("category", "floor"),
    )

    target_type: Mapped[str] = mapped_column(primary_key=True)
    target_name: Mapped[str] = mapped_column(primary_key=True)
    revision: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    cost: Mapped[float]
    floor: Mapped[float]
    ceiling: Mapped[float | None]
    category: Mapped[str | None]
    effective_at: Mapped[datetime.datetime] = mapped_column(default=now, server_default=sa.func.now())
    proposal_id: Mapped[uuid.UUID | None] = mapped_column(
        sa.ForeignKey("energy_cost_proposals.id"), unique=True
    )


# -- the store -----------------------------------------------------------------------------------


class CostStore:
    """A store of costs. Threads may share a store, and processes its file or database.

    Args:
        place: a path of a SQLite file, or ``postgresql://USER@HOST/DATABASE``.
        create: create the tables if they are missing.

    Raises:
        StoreError: the place is unreachable, not a database, or without the tables while ``create`` is False.
    """

    def __init__(self, place: str | os.PathLike[str], *, create: bool = True) -> None:
        self._engine = _engine(os.fspath(place), create=create)
        is_sqlite = self._engine.dialect.name == "sqlite"
        self.place = os.fspath(place) if is_sqlite else str(self._engine.url)  # which hides a password
        # PostgreSQL's lock needs no right to a table, so an agent's role may file and not review.
        self._lock = sa.text("BEGIN IMMEDIATE" if is_sqlite else "SELECT pg_advisory_xact_lock(7301)")
        self._session = sessionmaker(self._engine, expire_on_commit=False)
        try:
            with self._transaction(writing=False) as session:
                tables = {*sa.inspect(session.connection()).get_table_names()}
            if "solvent_costs_version" in tables:
                raise StoreError(f"{self.place}: a store of version 0.2.0; allowed: a new one")
            if not create and not tables >= Base.metadata.tables.keys():
                raise StoreError(f"{self.place}: not a store of costs; allowed: one with its tables")
            if not tables >= Base.metadata.tables.keys():
                with self._transaction() as session:  # several processes may create it at once
                    Base.metadata.create_all(session.connection())
        except StoreError:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    # -- prices ----------------------------------------------------------------------------------

    def enter(self, target_type: str, tool: ToolEnergy, *, ceiling: float | None = None) -> EnergyCost:
        """Enter the first price of a target and return the one in force; a known target keeps its price.

        Raises:
            StoreError: the price is below a floor, or not finite.
        """
        with self._transaction() as session:
            return _entered(session, target_type, tool, ceiling)

    def register_verbs(self, params: LabParams) -> list[EnergyCost]:
        """Enter the base costs of a lab's verbs, and return their prices in force."""
        tools = (energy_for_verb(VERBS[verb].name, params.energy) for verb in offered_verbs(params))
        return [self.enter("action", tool, ceiling=params.energy.ceiling) for tool in tools]

    def register_tools(self, tools: Iterable[ToolEnergy]) -> list[EnergyCost]:
        """Enter discovered tools with their rows of ``mcp_tools``, and return their prices in force."""
        prices = []
        for tool in tools:
            with self._transaction() as session:
                prices.append(_entered(session, "mcp_tool", tool))
                if session.scalar(sa.select(McpTool.id).filter_by(name=tool.name)) is None:
                    session.add(McpTool(name=tool.name, **tool.to_row() | {"energy_cost": prices[-1].cost}))
        return prices

    def prices(self) -> list[EnergyCost]:
        """Return the prices in force, by target."""
        with self._transaction(writing=False) as session:
            rows = session.scalars(sa.select(EnergyCost).order_by(*sa.inspect(EnergyCost).primary_key))
            return [*{(row.target_type, row.target_name): row for row in rows}.values()]

    def history(self, target_name: str, target_type: str | None = None) -> list[EnergyCost]:
        """Return all prices of a target, oldest first; the last is in force."""
        query = sa.select(EnergyCost).filter_by(target_name=target_name)
        query = query if target_type is None else query.filter_by(target_type=target_type)
        with self._transaction(writing=False) as session:
            return [*session.scalars(query.order_by(EnergyCost.target_type, EnergyCost.revision))]

    # -- the agent's side ------------------------------------------------------------------------

    def file(self, proposal: Proposal, *, key: uuid.UUID | None = None) -> EnergyCostProposal:
        """File a proposal; ``key`` is its id, by default a new one. Filing changes no cost.

        Raises:
            ProposalError: the target has no price or a pending proposal, evidence is missing, the range is not
                allowed, or ``key`` was filed before.
        """
        with self._transaction() as session:
            return _filed(session, proposal, key or uuid.uuid4())

    def log_discomfort(self, row: Discomfort, *, key: uuid.UUID | None = None) -> CostDiscomfort | None:
        """Log a deferral; None if ``key`` was logged before."""
        logged = CostDiscomfort(id=key or uuid.uuid4(), **row.model_dump())
        with self._transaction() as session:
            if session.get(CostDiscomfort, logged.id) is not None:
                return None
            session.add(logged)
        return logged

    # -- the human's side ------------------------------------------------------------------------

    def discomfort(self, action: str | None = None) -> list[CostDiscomfort]:
        """Return the deferrals of one action or of all, oldest first."""
        query = sa.select(CostDiscomfort).order_by(CostDiscomfort.created_at, CostDiscomfort.heartbeat_number)
        with self._transaction(writing=False) as session:
            return [*session.scalars(query if action is None else query.filter_by(action_considered=action))]

    def proposals(self, status: str | None = None) -> list[EnergyCostProposal]:
        """Return the proposals in one state or in all, oldest first."""
        query = sa.select(EnergyCostProposal).order_by(EnergyCostProposal.created_at, EnergyCostProposal.id)
        with self._transaction(writing=False) as session:
            return [*session.scalars(query if status is None else query.filter_by(status=status))]

    def proposal(self, key: str | uuid.UUID) -> EnergyCostProposal:
        """Return a proposal by its id.

        Raises:
            ProposalError: there is none.
        """
        with self._transaction(writing=False) as session:
            return _found(session, key)

    def approve(
        self,
        key: str | uuid.UUID,
        *,
        new_cost: float | None = None,
        by: str = "user",
        notes: str | None = None,
    ) -> EnergyCostProposal:
        """Approve a pending proposal. Nothing else changes a price.

        Args:
            key: id of the proposal.
            new_cost: the price to set, energy; by default the allowed cost nearest to the price in force.
            by: ``user`` or ``system``.
            notes: the reviewer's reasons.

        Raises:
            ProposalError: the proposal was reviewed before, or ``rules.approved_cost`` refuses.
        """
        with self._transaction() as session:
            row = _pending(session, key)
            price = _in_force(session, row.target_type, row.target_name)
            assert price is not None
            moment = max(now(), price.effective_at)  # the clock may have been set back
            cost = approved_cost(row, price, new_cost, moment)
            _close(row, "approved", by, notes)
            row.old_cost, row.new_cost, row.effective_at = price.cost, cost, moment
            session.flush()
            following = {"cost": cost, "proposal_id": row.id, "effective_at": moment}
            session.add(EnergyCost(**price.as_row() | {"revision": price.revision + 1} | following))
            if row.target_type == "mcp_tool":
                session.execute(sa.update(McpTool).filter_by(name=row.target_name).values(energy_cost=cost))
            return row

    def reject(
        self, key: str | uuid.UUID, *, by: str = "user", notes: str | None = None
    ) -> EnergyCostProposal:
        """Reject a pending proposal; ``by`` is ``user``, ``system`` or ``timeout``.

        Raises:
            ProposalError: the proposal was reviewed before; the message says by whom and when.
        """
        with self._transaction() as session:
            return _close(_pending(session, key), "rejected", by, notes)

    def withdraw(
        self, key: str | uuid.UUID, *, by: str = "system", notes: str | None = None
    ) -> EnergyCostProposal:
        """Withdraw a pending proposal; ``by`` is ``system`` for the agent itself, or ``user``. Errors as above."""
        with self._transaction() as session:
            return _close(_pending(session, key), "withdrawn", by, notes)

    # -- inside ----------------------------------------------------------------------------------

    @contextmanager
    def _transaction(self, *, writing: bool = True) -> Iterator[Session]:
        """Open a transaction; no other writer can cross a writing one."""
        try:
            with self._session.begin() as session:
                if writing:
                    session.execute(self._lock)
                yield session
        except SQLAlchemyError as error:
            lines = str(getattr(error, "orig", None) or error).strip().splitlines() or [type(error).__name__]
            what = (
                "a value is not allowed" if isinstance(error, IntegrityError) else "can't be used as a store"
            )
            raise StoreError(f"{self.place}: {what} ({lines[0]:.200})") from None


def _engine(place: str, *, create: bool) -> sa.Engine:
    try:
        if place.startswith("postgresql://"):
            url = sa.make_url(place).set(drivername="postgresql+psycopg")
            return sa.create_engine(url, connect_args={"connect_timeout": 10}, pool_pre_ping=True)
    except (SQLAlchemyError, ValueError):  # as of a port that is not a number
        pass
    if not place or "://" in place or "\0" in place:
        allowed = "allowed: a path or postgresql://USER@HOST/DATABASE"
        raise StoreError(f"store: got {place.partition('://')[0]!r:.80}; {allowed}")
    if not create and not Path(place).exists():
        raise StoreError(f"{place}: there is no store; `solvent proposals register` makes one")
    engine = sa.create_engine(sa.URL.create("sqlite", database=place), connect_args={"timeout": _PATIENCE})

    @sa.event.listens_for(engine, "connect")
    def set_up(connection: Any, _: Any) -> None:
        connection.isolation_level = None  # transactions begin where the store says so
        connection.execute("PRAGMA foreign_keys = ON")

    return engine


def _in_force(session: Session, target_type: str, target_name: str) -> EnergyCost | None:
    query = sa.select(EnergyCost).filter_by(target_type=target_type, target_name=target_name)
    found: EnergyCost | None = session.scalar(query.order_by(EnergyCost.revision.desc()).limit(1))
    return found


def _entered(
    session: Session, target_type: str, tool: ToolEnergy, ceiling: float | None = None
) -> EnergyCost:
    price = _in_force(session, target_type, tool.name)
    if price is None:
        price = EnergyCost(
            target_type=target_type, target_name=tool.name, revision=0, cost=tool.energy_cost,
            floor=tool.energy_cost_floor or 0.0, ceiling=ceiling, category=tool.category, effective_at=now(),
        )  # fmt: skip
        session.add(price)
    return price


def _filed(session: Session, proposal: Proposal, key: uuid.UUID) -> EnergyCostProposal:
    if session.get(EnergyCostProposal, key) is not None:
        raise ProposalError(f"proposal {_short(key)} was filed before")
    kinds = [proposal.target_type] if proposal.target_type else ["action", "mcp_tool"]
    price = next((found for kind in kinds if (found := _in_force(session, kind, proposal.target))), None)
    if price is None:
        raise ProposalError(f"target: {proposal.target!r:.60} has no price; allowed: register it first")
    target = {"target_type": price.target_type, "target_name": price.target_name}
    pending = sa.select(EnergyCostProposal.id).filter_by(**target, status="pending")
    if (waiting := session.scalar(pending)) is not None:
        raise ProposalError(
            f"{proposal.target} has a pending proposal already ({_short(waiting)}); allowed: one at a time"
        )
    check_filing(proposal, price)
    low, high = proposal.suggested_range
    given = {"type", "target", "target_type", "suggested_range", "heartbeat_refs"}
    row = EnergyCostProposal(
        id=key, **target, **proposal.model_dump(mode="json", exclude=given), suggested_min=low,
        suggested_max=high, heartbeat_refs=proposal.heartbeats, created_at=now(),
    )  # fmt: skip
    session.add(row)
    return row


def _close(row: EnergyCostProposal, status: str, by: str, notes: str | None) -> EnergyCostProposal:
    row.status, row.reviewed_by, row.review_notes, row.reviewed_at = status, by, notes, now()
    return row


def _pending(session: Session, key: str | uuid.UUID) -> EnergyCostProposal:
    row = _found(session, key)
    if row.status != "pending":
        raise ProposalError(
            f"proposal {_short(row.id)} is already {row.status} (by {row.reviewed_by}, "
            f"{row.reviewed_at:%Y-%m-%d %H:%M:%S} UTC)"
        )
    return row


def _found(session: Session, key: str | uuid.UUID) -> EnergyCostProposal:
    try:
        row = session.get(EnergyCostProposal, uuid.UUID(str(key)))
    except ValueError:  # not an id
        row = None
    if row is None:
        raise ProposalError(f"proposal: got {str(key)!r:.60}; allowed: the id of one in the store")
    return row


def _short(key: uuid.UUID) -> str:
    return str(key)[:8]
