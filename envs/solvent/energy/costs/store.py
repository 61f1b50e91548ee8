"""The store: typed operations on proposals, over prices (``prices.py``) and the agent's record (``journal.py``).

The agent's side files proposals and keeps its record; the human's side reviews. Every operation is one
transaction. A review locks its proposal first, so exactly one of several reviewers wins: on SQLite the transaction
locks the database (``BEGIN IMMEDIATE``), on PostgreSQL the row (``SELECT ... FOR UPDATE``).

What breaks a rule of proposals is a ``ProposalError``, any other refusal a ``StoreError``. Both are one line.
"""

from __future__ import annotations

import dataclasses
import datetime
import uuid
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from solvent.database import now
from solvent.energy.costs.journal import insert
from solvent.energy.costs.lifecycle import ProposalError, Reviewer, Status
from solvent.energy.costs.models import EnergyCostProposal, LedgerLine, McpTool
from solvent.energy.costs.prices import Prices
from solvent.energy.costs.records import Reflection
from solvent.energy.costs.rules import approved_cost, check_pace, check_proposal

__all__ = ["CostStore"]


class CostStore(Prices):
    """A store of costs. Opening it creates the database if necessary and migrates it.

    Threads may share a store, and processes its file or database. Use it as a context manager, or ``close`` it.

    Args:
        place: a path, ``sqlite:///PATH`` or ``postgresql://USER@HOST/DATABASE``.
        create: create the store if it is missing.

    Raises:
        StoreError: the place is unreachable, not a database, in use by another program, of a newer schema, or missing
            while ``create`` is False.
    """

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


def _close(session: Session, row: EnergyCostProposal, status: Status, by: str, notes: str | None) -> None:
    row.status, row.reviewed_by, row.review_notes = status.value, str(by), notes
    row.reviewed_at = now(session)


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


def _short(key: uuid.UUID) -> str:
    return str(key)[:8]
