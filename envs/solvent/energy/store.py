"""The store of prices, proposals and deferrals, in SQLite or PostgreSQL.

The agent's side files proposals, which changes no cost; the human's side reviews them. Every operation is one
transaction, and a writing one holds a lock, of the file in SQLite and an advisory one in PostgreSQL, so exactly one of
several reviewers wins. Needs the extra ``store``.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError, SQLAlchemyError
from sqlalchemy.orm import Session, sessionmaker

from solvent.energy.pricing import ACTION, CATEGORIES, ToolEnergy, energy_for_verb
from solvent.energy.rules import Discomfort, Proposal, ProposalError, StoreError, approved_cost, check_filing
from solvent.energy.tables import Base, CostDiscomfort, EnergyCost, EnergyCostProposal, McpTool
from solvent.energy.triggers import install_missing_triggers, triggers_are_missing
from solvent.files import now
from solvent.lab.mechanisms.energy import CEILING, VERB_NAMES

__all__ = ["CostStore"]

_RANK = {category: rank for rank, category in enumerate((ACTION, *CATEGORIES))}
_PATIENCE = 30.0
"""Seconds to wait for another writer."""


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
        self._session = sessionmaker(self._engine, expire_on_commit=False, autoflush=False)
        try:
            with self._transaction(writing=create) as session:
                tables = {*sa.inspect(session.connection()).get_table_names()}
                missing = Base.metadata.tables.keys() - tables
                if "solvent_costs_version" in tables:
                    raise StoreError(f"{self.place}: a store of version 0.2.0; allowed: a new one")
                if missing and not create:
                    raise StoreError(f"{self.place}: not a store of costs; allowed: one with its tables")
                if missing:
                    Base.metadata.create_all(session.connection())
                    install_missing_triggers(session)
                outdated = triggers_are_missing(session)
            if outdated:
                self._add_triggers()
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

        A target of type ``mcp_tool`` also gets its row of ``mcp_tools``; the other type is ``action``.

        Raises:
            StoreError: the price is below a floor, or not finite; or the target is known, in a cheaper category, as if
                another server has a tool of the same name.
        """
        with self._transaction() as session:
            price = _in_force(session, target_type, tool.name)
            if price is not None and _RANK[tool.category] > _RANK[price.category]:
                raise StoreError(
                    f"{tool.name}: got {tool.category}, in the store it is {price.category}; allowed: a name that is "
                    "not in the store, SERVER:TOOL"
                )
            if price is None:
                price = EnergyCost(
                    target_type=target_type, target_name=tool.name, revision=0, cost=tool.energy_cost,
                    floor=tool.energy_cost_floor or 0.0, ceiling=ceiling, category=tool.category, effective_at=now(),
                )  # fmt: skip
                session.add(price)
                session.flush()  # the triggers want the price before the tool's row
                if target_type == "mcp_tool":
                    session.add(McpTool(name=tool.name, **tool.to_row()))
            return price

    def register_verbs(self) -> list[EnergyCost]:
        """Enter the base costs of the lab's verbs, and return their prices in force."""
        return [self.enter("action", energy_for_verb(verb), ceiling=CEILING) for verb in VERB_NAMES]

    def register_tools(self, tools: Iterable[ToolEnergy]) -> list[EnergyCost]:
        """Enter discovered tools, and return their prices in force."""
        return [self.enter("mcp_tool", tool) for tool in tools]

    def prices(self) -> list[EnergyCost]:
        """Return the prices in force, by target."""
        rows = self._rows(sa.select(EnergyCost).order_by(*sa.inspect(EnergyCost).primary_key))
        return [*{(row.target_type, row.target_name): row for row in rows}.values()]

    def history(self, target_name: str, target_type: str | None = None) -> list[EnergyCost]:
        """Return all prices of a target, oldest first; the last is in force."""
        query = sa.select(EnergyCost).filter_by(target_name=target_name)
        query = query if target_type is None else query.filter_by(target_type=target_type)
        return self._rows(query.order_by(EnergyCost.target_type, EnergyCost.revision))

    # -- the agent's side ------------------------------------------------------------------------

    def file(self, proposal: Proposal, *, key: uuid.UUID | None = None) -> EnergyCostProposal:
        """File a proposal; ``key`` is its id, by default a new one. Filing changes no cost.

        Raises:
            ProposalError: the target has no price or a pending proposal, evidence is missing, the range is not
                allowed, or ``key`` was filed before.
        """
        with self._transaction() as session:
            if key and session.get(EnergyCostProposal, key) is not None:
                raise ProposalError(f"proposal {key} was filed before")
            kinds = [proposal.target_type] if proposal.target_type else ["action", "mcp_tool"]
            price = next(filter(None, (_in_force(session, kind, proposal.target) for kind in kinds)), None)
            if price is None:
                raise ProposalError(
                    f"target: {proposal.target!r:.60} has no price; allowed: register it first"
                )
            target = {"target_type": price.target_type, "target_name": price.target_name}
            pending = sa.select(EnergyCostProposal.id).filter_by(**target, status="pending")
            if (waiting := session.scalar(pending)) is not None:
                raise ProposalError(
                    f"{proposal.target} has a pending proposal already ({waiting}); allowed: one at a time"
                )
            check_filing(proposal, price)
            given = {"type", "target", "target_type", "suggested_range", "heartbeat_refs"}
            row = EnergyCostProposal(
                id=key or uuid.uuid4(), **target, **proposal.model_dump(mode="json", exclude=given),
                suggested_min=proposal.suggested_range[0], suggested_max=proposal.suggested_range[1],
                heartbeat_refs=proposal.heartbeats, created_at=now(),
            )  # fmt: skip
            session.add(row)
            return row

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
        return self._rows(query if action is None else query.filter_by(action_considered=action))

    def proposals(self, status: str | None = None) -> list[EnergyCostProposal]:
        """Return the proposals in one state or in all, oldest first."""
        query = sa.select(EnergyCostProposal).order_by(EnergyCostProposal.created_at, EnergyCostProposal.id)
        return self._rows(query if status is None else query.filter_by(status=status))

    def proposal(self, key: str | uuid.UUID) -> EnergyCostProposal:
        """Return a proposal by its id.

        Raises:
            ProposalError: there is none.
        """
        with self._transaction(writing=False) as session:
            return _proposal(session, key)

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
            row = _reviewed(session, key, "approved", by, notes)
            price = _in_force(session, row.target_type, row.target_name)
            assert price is not None
            moment = max(now(), price.effective_at)  # the clock may have been set back
            cost = approved_cost(row, price, new_cost, moment)
            row.old_cost, row.new_cost, row.effective_at = price.cost, cost, moment
            session.flush()  # the triggers want the approval before the price
            following = {"cost": cost, "proposal_id": row.id, "effective_at": moment}
            session.add(EnergyCost(**price.as_row() | {"revision": price.revision + 1} | following))
            session.flush()  # and the price before the tool's row
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
            return _reviewed(session, key, "rejected", by, notes)

    def withdraw(
        self, key: str | uuid.UUID, *, by: str = "system", notes: str | None = None
    ) -> EnergyCostProposal:
        """Withdraw a pending proposal; ``by`` is ``system`` for the agent itself, or ``user``. Errors as above."""
        with self._transaction() as session:
            return _reviewed(session, key, "withdrawn", by, notes)

    # -- inside ----------------------------------------------------------------------------------

    def _add_triggers(self) -> None:
        """Add the triggers to a store of an earlier version."""
        try:
            with self._transaction() as session:
                install_missing_triggers(session)
        except StoreError as error:
            raise StoreError(
                f"{error}; its tables are of version 0.3.0, without triggers; allowed: open it once as their owner"
            ) from None

    @contextmanager
    def _transaction(self, *, writing: bool = True) -> Iterator[Session]:
        """Open a transaction; no other writer can cross a writing one."""
        try:
            with self._session.begin() as session:
                if writing:
                    session.execute(self._lock)
                yield session
        except SQLAlchemyError as error:
            detail = str(getattr(error, "orig", None) or error).strip().partition("\n")[0]
            fault = (
                "a value is not allowed" if isinstance(error, IntegrityError) else "can't be used as a store"
            )
            raise StoreError(f"{self.place}: {fault} ({detail:.200})") from None

    def _rows(self, query: sa.Select[Any]) -> list[Any]:
        with self._transaction(writing=False) as session:
            return [*session.scalars(query)]


def _engine(place: str, *, create: bool) -> sa.Engine:
    if place.startswith("postgresql://"):
        with suppress(SQLAlchemyError, ValueError):  # as of a port that is not a number
            url = sa.make_url(place).set(drivername="postgresql+psycopg")
            return sa.create_engine(url, connect_args={"connect_timeout": 10}, pool_pre_ping=True)
    if not place or "://" in place:
        allowed = "allowed: a path or postgresql://USER@HOST/DATABASE"
        raise StoreError(f"store: got {place.partition('://')[0]!r:.80}; {allowed}")
    if not create and not Path(place).exists():
        raise StoreError(f"{place}: there is no store; `solvent proposals register` makes one")
    # Without an isolation level, transactions begin where the store says so.
    options = {"timeout": _PATIENCE, "isolation_level": None}
    engine = sa.create_engine(sa.URL.create("sqlite", database=place), connect_args=options)
    sa.event.listen(engine, "connect", lambda connection, _: connection.execute("PRAGMA foreign_keys = ON"))
    return engine


def _in_force(session: Session, target_type: str, target_name: str) -> EnergyCost | None:
    query = sa.select(EnergyCost).filter_by(target_type=target_type, target_name=target_name)
    price: EnergyCost | None = session.scalar(query.order_by(EnergyCost.revision.desc()).limit(1))
    return price


def _proposal(session: Session, key: str | uuid.UUID) -> EnergyCostProposal:
    row = None
    with suppress(ValueError):  # not an id
        row = session.get(EnergyCostProposal, uuid.UUID(str(key)))
    if row is None:
        raise ProposalError(f"proposal: got {str(key)!r:.60}; allowed: the id of one in the store")
    return row


def _reviewed(
    session: Session, key: str | uuid.UUID, status: str, by: str, notes: str | None
) -> EnergyCostProposal:
    """Return a proposal with its review; refuse one that is not pending."""
    row = _proposal(session, key)
    if row.status != "pending":
        raise ProposalError(
            f"proposal {row.id} is already {row.status} (by {row.reviewed_by}, "
            f"{row.reviewed_at:%Y-%m-%d %H:%M:%S} UTC)"
        )
    row.status, row.reviewed_by, row.review_notes, row.reviewed_at = status, by, notes, now()
    return row
