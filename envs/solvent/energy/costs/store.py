"""The store: typed operations on prices, proposals and the agent's record in a database.

The agent's side files proposals and keeps its record (``journal.py``); the human's side reviews. Every operation is one
transaction. A review locks its proposal first, so exactly one of several reviewers wins: on SQLite the transaction
locks the database (``BEGIN IMMEDIATE``), on PostgreSQL the row (``SELECT ... FOR UPDATE``).

What breaks a rule of proposals is a ``ProposalError``, any other refusal a ``StoreError``. Both are one line.
"""

from __future__ import annotations

import dataclasses
import datetime
import uuid
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.orm import Session

from solvent.database import StoreError, now
from solvent.energy.costs.journal import Journal, insert
from solvent.energy.costs.lifecycle import ProposalError, Reviewer, Status
from solvent.energy.costs.models import EnergyCost, EnergyCostProposal, LedgerLine, McpTool
from solvent.energy.costs.records import Reflection
from solvent.energy.costs.rules import approved_cost, check_pace, check_proposal
from solvent.energy.pricing import ToolEnergy, energy_for_verb
from solvent.lab.mechanisms.energy import VERB_NAMES
from solvent.lab.params import LabParams

__all__ = ["CostStore", "PriceList"]


class PriceList(NamedTuple):
    """Base costs of the lab's verbs, energy, at a moment (UTC)."""

    as_of: datetime.datetime
    costs: dict[str, float]


class CostStore(Journal):
    """A store of costs. Opening it creates the database if necessary and migrates it.

    Arguments and errors are those of ``Database``.
    """

    # ------------------------------------------------------------------------------------------ prices

    def register_action(
        self,
        name: str,
        cost: float,
        *,
        floor: float = 0.0,
        ceiling: float | None = None,
        category: str | None = None,
    ) -> EnergyCost:
        """Enter the first price of an action, energy. Later prices come from approvals only.

        Raises:
            StoreError: the action has a price already, or the numbers are inconsistent.
        """
        row = EnergyCost(
            target_type="action", target_name=name, cost=cost, floor=floor, ceiling=ceiling, category=category
        )
        with self._writing(f"price of {name!r}") as session:
            if session.scalar(_prices_of("action", name).limit(1)) is not None:
                raise StoreError(
                    f"action {name!r} has a price; allowed: it changes only by an approved proposal"
                )
            return insert(session, row, effective_at=now(session))

    def register_verbs(self, params: LabParams) -> list[EnergyCost]:
        """Enter the base costs, floors and the ceiling of a lab's verbs, and return the new prices.

        Verbs that have a price keep it.
        """
        energy = params.energy
        with self._writing("prices of the lab's verbs") as session:
            _lock_prices(session)
            known = set(
                session.scalars(sa.select(EnergyCost.target_name).where(EnergyCost.target_type == "action"))
            )
            moment = now(session)
            verbs = [energy_for_verb(verb, energy) for verb in VERB_NAMES if verb not in known]
            rows = [_first_price("action", verb, energy.ceiling) for verb in verbs]
            return [insert(session, row, effective_at=moment) for row in rows]

    def register_tool(self, tool: ToolEnergy, description: str | None = None) -> McpTool:
        """Enter a discovered tool, priced by ``energy_for_tool``, and its first price.

        Raises:
            StoreError: the tool is registered already, or the numbers are inconsistent.
        """
        with self._writing(f"tool {tool.name!r}") as session:
            if session.scalar(sa.select(McpTool.id).where(McpTool.name == tool.name)) is not None:
                raise StoreError(f"tool {tool.name!r} is registered already; allowed: a new name")
            row = insert(session, McpTool(name=tool.name, description=description, **tool.to_row()))
            insert(session, _first_price("mcp_tool", tool), effective_at=now(session))
        return row

    def enter(self, target_type: str, tool: ToolEnergy) -> EnergyCost:
        """Return a target's price in force; a target without one gets the price of ``tool`` first.

        Raises:
            StoreError: the numbers are inconsistent.
        """
        with self._reading() as session:
            price = _newest(session, target_type, tool.name)
        if price is not None:
            return price
        with self._writing(f"price of {tool.name!r}") as session:
            _lock_prices(session)
            price = _newest(session, target_type, tool.name)
            if price is not None:  # another meter was faster
                return price
            if target_type == "mcp_tool":
                insert(session, McpTool(name=tool.name, **tool.to_row()))
            return insert(session, _first_price(target_type, tool), effective_at=now(session))

    def tools(self) -> list[McpTool]:
        """Return the registered tools by name; ``energy_cost`` is the price in force."""
        with self._reading() as session:
            return list(session.scalars(sa.select(McpTool).order_by(McpTool.name)))

    def price(self, target_type: str, target_name: str) -> EnergyCost:
        """Return a target's price in force.

        Raises:
            ProposalError: the target has no price.
        """
        with self._reading() as session:
            return self._in_force(session, target_type, target_name)

    def history(self, target_type: str, target_name: str) -> list[EnergyCost]:
        """Return all prices of a target, oldest first.

        Raises:
            ProposalError: the target has no price.
        """
        with self._reading() as session:
            self._in_force(session, target_type, target_name)
            rows = session.scalars(_prices_of(target_type, target_name).order_by(EnergyCost.revision))
            return list(rows)

    def prices(self, as_of: datetime.datetime | None = None) -> list[EnergyCost]:
        """Return the price of every target registered at a moment (None: now), by type and name.

        Raises:
            StoreError: the moment has no zone or is in the future.
        """
        with self._reading() as session:
            rows = session.scalars(
                sa.select(EnergyCost)
                .where(EnergyCost.effective_at <= _past(session, as_of))
                .order_by(EnergyCost.target_type, EnergyCost.target_name, EnergyCost.revision)
            )
            return list({(row.target_type, row.target_name): row for row in rows}.values())

    def price_list(self, as_of: datetime.datetime | None = None) -> PriceList:
        """Return the base costs of the lab's verbs at a moment, as parameters of a lab.

        Prices are only added, so the list of a past moment never changes. None asks for the list in force, dated by its
        last change. Known approximation: the list in force may miss an approval that is in progress.

        Raises:
            StoreError: the moment has no zone, is in the future, or is before the first price.
        """
        verbs = [
            row for row in self.prices(as_of) if row.target_type == "action" and row.target_name in VERB_NAMES
        ]
        if not verbs:
            when = "" if as_of is None else f" as of {as_of.isoformat()}"
            raise StoreError(
                f"{self.place}: has no price of a lab's verb{when}; allowed: a moment after the first"
            )
        moment = max(row.effective_at for row in verbs) if as_of is None else as_of.astimezone(datetime.UTC)
        return PriceList(moment, {row.target_name: row.cost for row in verbs})

    # --------------------------------------------------------------------------------- the agent's side

    def file_proposal(
        self,
        proposal: EnergyCostProposal,
        reflection: Reflection | None = None,
        *,
        origin: LedgerLine | None = None,
    ) -> EnergyCostProposal:
        """File a proposal. Filing changes no cost.

        Args:
            proposal: the argument, with evidence from at least two heartbeats.
            reflection: the reflection that it follows from, to be logged with it; None if the proposal's
                ``memory_refs`` name one that is logged.
            origin: the ledger line that it comes from.

        Raises:
            ProposalError: the target has no price or a pending proposal, evidence or reflection is missing, the range
                is not allowed.
        """
        with self._writing(f"proposal for {proposal.target_name!r}", ProposalError) as session:
            return self._file(session, proposal, reflection, origin)

    def revise(self, key: str | uuid.UUID, proposal: EnergyCostProposal) -> EnergyCostProposal:
        """Withdraw a pending proposal and file another about the same target in its place; neither or both happen.

        Raises:
            ProposalError: the proposal was reviewed before, is about another target, or the new one can't be filed.
        """
        with self._writing(f"proposal for {proposal.target_name!r}", ProposalError) as session:
            old = _pending(session, key)
            if (old.target_type, old.target_name) != (proposal.target_type, proposal.target_name):
                raise ProposalError(
                    f"target: got {proposal.target}; allowed: {old.target}, which {_short(old.id)} is about"
                )
            following = uuid.uuid4()
            _close(session, old, Status.WITHDRAWN, Reviewer.SYSTEM, f"revised as {following}")
            session.flush()
            return self._file(session, proposal, id=following)

    # --------------------------------------------------------------------------------- the human's side

    def proposals(
        self,
        status: str | None = None,
        *,
        target_name: str | None = None,
        limit: int | None = None,
        offset: int = 0,
    ) -> list[EnergyCostProposal]:
        """Return proposals, oldest first.

        Args:
            status: one state, or all.
            target_name: one target, or all.
            limit: number of proposals at most, after the first ``offset``.
            offset: number of proposals to skip.

        Raises:
            ProposalError: the state is unknown.
        """
        query = sa.select(EnergyCostProposal).order_by(EnergyCostProposal.created_at, EnergyCostProposal.id)
        if status is not None:
            if status not in set(Status):
                raise ProposalError(f"status: got {status!r}; allowed: {', '.join(Status)}")
            query = query.where(EnergyCostProposal.status == status)
        if target_name is not None:
            query = query.where(EnergyCostProposal.target_name == target_name)
        with self._reading() as session:
            return list(session.scalars(query.limit(limit).offset(offset)))

    def count_proposals(self) -> dict[str, int]:
        """Return the number of proposals in each state."""
        query = sa.select(EnergyCostProposal.status, sa.func.count()).group_by(EnergyCostProposal.status)
        with self._reading() as session:
            counts: dict[str, int] = {row[0]: row[1] for row in session.execute(query)}
        return {status.value: counts.get(status, 0) for status in Status}

    def proposal(self, key: str | uuid.UUID) -> EnergyCostProposal:
        """Return a proposal by its id or by a unique prefix of it.

        Raises:
            ProposalError: no proposal matches, or several do.
        """
        with self._reading() as session:
            return _found(session, key)

    def approve(
        self,
        key: str | uuid.UUID,
        *,
        new_cost: float | None = None,
        by: str = Reviewer.USER,
        notes: str | None = None,
    ) -> EnergyCostProposal:
        """Approve a pending proposal. Nothing else changes a price.

        Args:
            key: id of the proposal, or a unique prefix.
            new_cost: the price to set, energy; by default the end of the range nearest to the price in force. Required
                if the proposal argues about a price that is no longer in force.
            by: ``user`` or ``system``.
            notes: the reviewer's reasons.

        Raises:
            ProposalError: the proposal was reviewed before, the cost is outside range, floor, ceiling or step, or the
                price changed less than a day ago.
        """
        if by not in (Reviewer.USER, Reviewer.SYSTEM):
            raise ProposalError(f"reviewed_by: got {by!r}; allowed for an approval: user, system")
        with self._writing("review", ProposalError) as session:
            row = _pending(session, key)
            price = self._in_force(session, row.target_type, row.target_name)
            if new_cost is None and row.current_cost != price.cost:
                raise ProposalError(
                    f"cost: the proposal argues about a cost of {row.current_cost:g}, the price is {price.cost:g}; "
                    "allowed: name a cost"
                )
            # The clock may stand still or be set back; the history goes forward.
            moment = max(now(session), price.effective_at + datetime.timedelta(microseconds=1))
            new = approved_cost(row, price, new_cost)
            check_pace(price, moment)
            row.old_cost, row.new_cost = price.cost, new
            row.status, row.reviewed_by, row.review_notes = Status.APPROVED.value, str(by), notes
            row.reviewed_at = row.effective_at = moment
            session.flush()
            following = dataclasses.replace(
                price, revision=price.revision + 1, cost=row.new_cost, proposal_id=row.id
            )
            insert(session, following, effective_at=moment)
            if row.target_type == "mcp_tool":
                tool = sa.update(McpTool).where(McpTool.name == row.target_name)
                session.execute(tool.values(energy_cost=row.new_cost))
        return row

    def reject(
        self, key: str | uuid.UUID, *, by: str = Reviewer.USER, notes: str | None = None
    ) -> EnergyCostProposal:
        """Reject a pending proposal; ``by`` is ``user``, ``system`` or ``timeout``.

        Raises:
            ProposalError: the proposal was reviewed before; the message says by whom and when.
        """
        if by not in set(Reviewer):
            raise ProposalError(f"reviewed_by: got {by!r}; allowed: {', '.join(Reviewer)}")
        return self._end(key, Status.REJECTED, by, notes)

    def withdraw(
        self, key: str | uuid.UUID, *, by: str = Reviewer.SYSTEM, notes: str | None = None
    ) -> EnergyCostProposal:
        """Withdraw a pending proposal; ``by`` is ``system`` for the agent itself, or ``user``.

        Raises:
            ProposalError: the proposal was reviewed before; the message says by whom and when.
        """
        if by not in (Reviewer.USER, Reviewer.SYSTEM):
            raise ProposalError(f"reviewed_by: got {by!r}; allowed for a withdrawal: user, system")
        return self._end(key, Status.WITHDRAWN, by, notes)

    def expire(self, age: datetime.timedelta) -> list[EnergyCostProposal]:
        """Reject the proposals that have been pending for ``age`` or longer, as timed out, and return them.

        Raises:
            ProposalError: ``age`` is not above 0.
        """
        if age <= datetime.timedelta(0):
            raise ProposalError(f"age: got {age}; allowed: above 0")
        with self._reading() as session:
            old = session.scalars(
                sa.select(EnergyCostProposal.id)
                .where(
                    EnergyCostProposal.status == Status.PENDING.value,
                    EnergyCostProposal.created_at <= now(session) - age,
                )
                .order_by(EnergyCostProposal.created_at)
            ).all()
        expired = []
        for found in old:
            try:
                expired.append(self.reject(found, by=Reviewer.TIMEOUT, notes=f"no review within {age}"))
            except ProposalError:  # reviewed in the meantime
                continue
        return expired

    def _end(self, key: str | uuid.UUID, status: Status, by: str, notes: str | None) -> EnergyCostProposal:
        with self._writing("review", ProposalError) as session:
            row = _pending(session, key)
            _close(session, row, status, by, notes)
        return row

    def _file(
        self,
        session: Session,
        proposal: EnergyCostProposal,
        reflection: Reflection | None = None,
        origin: LedgerLine | None = None,
        **by_the_store: Any,
    ) -> EnergyCostProposal:
        kind, name = proposal.target_type, proposal.target_name
        price = self._in_force(session, kind, name)
        pending = session.scalar(
            sa.select(EnergyCostProposal.id).where(
                EnergyCostProposal.target_type == kind,
                EnergyCostProposal.target_name == name,
                EnergyCostProposal.status == Status.PENDING.value,
            )
        )
        if pending is not None:
            raise ProposalError(
                f"{proposal.target} has a pending proposal already ({_short(pending)}); allowed: one at a time"
            )
        check_proposal(proposal, price)
        memories = list(proposal.memory_refs or ())
        known = sa.select(Reflection.id).where(Reflection.id.in_(memories)).limit(1)
        if reflection is None and session.scalar(known) is None:
            raise ProposalError(
                "memory_refs: got no reflection; allowed: at least one that is logged, by its id"
            )
        if reflection is not None:
            memories.append(insert(session, reflection).id)
        row = insert(session, proposal, created_at=now(session), memory_refs=memories, **by_the_store)
        if origin is not None:
            insert(session, origin, proposal_id=row.id)
        return row

    def _in_force(self, session: Session, target_type: str, target_name: str) -> EnergyCost:
        row = _newest(session, target_type, target_name)
        if row is None:
            raise ProposalError(
                f"{target_type} {target_name!r} has no price in {self.place}; allowed: register one first"
            )
        return row


def _newest(session: Session, target_type: str, target_name: str) -> EnergyCost | None:
    row: EnergyCost | None = session.scalar(
        _prices_of(target_type, target_name).order_by(EnergyCost.revision.desc()).limit(1)
    )
    return row


def _lock_prices(session: Session) -> None:
    if session.get_bind().dialect.name == "postgresql":  # SQLite's transaction holds the lock
        session.execute(sa.text("LOCK TABLE energy_costs IN SHARE ROW EXCLUSIVE MODE"))


def _close(session: Session, row: EnergyCostProposal, status: Status, by: str, notes: str | None) -> None:
    row.status, row.reviewed_by, row.review_notes = status.value, str(by), notes
    row.reviewed_at = now(session)


def _first_price(target_type: str, tool: ToolEnergy, ceiling: float | None = None) -> EnergyCost:
    return EnergyCost(
        target_type=target_type,
        target_name=tool.name,
        cost=tool.energy_cost,
        floor=tool.energy_cost_floor or 0.0,
        ceiling=ceiling,
        category=tool.category,
    )


def _prices_of(target_type: str, target_name: str) -> sa.Select[Any]:
    return sa.select(EnergyCost).where(
        EnergyCost.target_type == target_type, EnergyCost.target_name == target_name
    )


def _pending(session: Session, key: str | uuid.UUID) -> EnergyCostProposal:
    row = _found(session, key, lock=True)
    if row.status != Status.PENDING:
        raise ProposalError(
            f"proposal {_short(row.id)} is already {row.status} (by {row.reviewed_by}, "
            f"{row.reviewed_at:%Y-%m-%d %H:%M:%S} UTC)"
        )
    return row


def _found(session: Session, key: str | uuid.UUID, *, lock: bool = False) -> EnergyCostProposal:
    digits = str(key).strip().lower().replace("-", "")
    if not digits or len(digits) > 32 or not set(digits) <= set("0123456789abcdef"):
        raise ProposalError(f"proposal: got {str(key)!r:.60}; allowed: its id, or the first characters of it")
    as_text = sa.func.replace(sa.cast(EnergyCostProposal.id, sa.Text), "-", "")
    query = sa.select(EnergyCostProposal).where(as_text.like(f"{digits}%")).order_by("id").limit(2)
    # For SQLite, which has no row locks, SQLAlchemy omits the clause; the transaction holds the lock.
    rows = session.scalars(query.with_for_update() if lock else query).all()
    if not rows:
        raise ProposalError(
            f"proposal: no id begins with {digits!r}; allowed: one of `solvent proposals list`"
        )
    if len(rows) > 1:
        raise ProposalError(f"proposal: several ids begin with {digits!r}; allowed: more characters of it")
    return rows[0]


def _past(session: Session, as_of: datetime.datetime | None) -> datetime.datetime:
    present = now(session)
    if as_of is None:
        return present
    if as_of.tzinfo is None:
        raise StoreError(f"as_of: got {as_of.isoformat()} without a zone; allowed: a time with one")
    if as_of > present:
        raise StoreError(
            f"as_of: got {as_of.isoformat()}, which is in the future; allowed: up to now, {present.isoformat()}"
        )
    return as_of


def _short(key: uuid.UUID) -> str:
    return str(key)[:8]
