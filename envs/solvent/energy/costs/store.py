"""The store: prices, proposals and discomfort in a database, behind typed operations.

The agent's side files proposals and logs discomfort and heartbeats; the human's side reviews. Whatever this class would
let through by mistake, the database's checks and triggers refuse (``migrations/``). Every operation is one transaction.
"""

from __future__ import annotations

import datetime
import os
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any, NamedTuple, Self

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from solvent.energy.costs.connection import connect, migrate, place_of, said, url_of
from solvent.energy.costs.lifecycle import (
    Direction,
    ProposalError,
    Reviewer,
    Status,
    StoreError,
    approved_cost,
    floor_of_category,
)
from solvent.energy.costs.models import (
    CostDiscomfort,
    EnergyCost,
    EnergyCostProposal,
    Heartbeat,
    IntentSummary,
    LedgerLine,
    McpTool,
)
from solvent.lab.mechanisms.energy import VERB_NAMES
from solvent.lab.params import LabParams

__all__ = ["VERB_CATEGORIES", "CostStore", "Origin"]

VERB_CATEGORIES = {"publish_public": "send_public", "publish_private": "send_private"}
"""The lab's verbs that fall into a category of the tool mapping; the others are ``action``."""


class Origin(NamedTuple):
    """The line of an environment's ledger that a row comes from; the digest tells lines apart."""

    digest: str
    ledger: str
    line: int
    design_id: str | None
    logged_at: str | None


class CostStore:
    """A store of costs: a SQLite file by default, PostgreSQL by URL. It is made and migrated when it is opened.

    Safe to share between threads, and one file or database between processes. Use it as a context manager, or
    ``close`` it.

    Args:
        place: a path, ``sqlite:///PATH`` or ``postgresql://USER@HOST/DATABASE``.
        create: make the store where there is none.

    Raises:
        StoreError: not reachable, no database, someone else's, of a newer schema, or missing without ``create``.
    """

    def __init__(self, place: str | os.PathLike[str], *, create: bool = True) -> None:
        url = url_of(place)
        self.place = place_of(url)
        self._engine = connect(url, create=create)
        try:
            migrate(self._engine, create=create)
        except BaseException:
            self._engine.dispose()
            raise

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # ------------------------------------------------------------------------------------------ prices

    def register_price(
        self,
        target_type: str,
        target_name: str,
        cost: float,
        *,
        floor: float = 0.0,
        ceiling: float | None = None,
        category: str | None = None,
    ) -> EnergyCost:
        """Enter the first price of an action. Later prices come from approvals only.

        Args:
            target_type: ``action``; a tool is registered by ``register_tool``.
            target_name: the verb, such as ``screen``.
            cost: base cost, energy.
            floor: least cost ever, energy; at least 6 for a public, 5 for a destructive, 3 for a private action.
            ceiling: highest cost ever, energy; None for none.
            category: of the tool mapping, if it is in one.

        Raises:
            StoreError: the target has a price already, or the numbers don't fit.
        """
        row = EnergyCost(
            target_type=target_type,
            target_name=target_name,
            revision=0,
            cost=float(cost),
            floor=float(floor),
            ceiling=ceiling,
            category=category,
        )
        with self._writing(f"price of {target_name!r}") as session:
            row.effective_at = _now(session)
            session.add(row)
        return row

    def register_verbs(self, params: LabParams) -> list[EnergyCost]:
        """Enter the base costs, floors and the ceiling of a lab's verbs; those that have a price keep it.

        Returns:
            What was entered.

        Raises:
            StoreError: the database refuses.
        """
        energy = params.energy
        with self._writing("prices of the lab's verbs") as session:
            if session.connection().dialect.name == "postgresql":  # on SQLite the transaction has the lock
                session.execute(sa.text("LOCK TABLE energy_costs IN SHARE ROW EXCLUSIVE MODE"))
            known = set(
                session.scalars(sa.select(EnergyCost.target_name).where(EnergyCost.target_type == "action"))
            )
            moment = _now(session)
            rows = [
                EnergyCost(
                    target_type="action",
                    target_name=verb,
                    revision=0,
                    cost=energy.base_cost(verb),
                    floor=energy.floor(verb),
                    ceiling=energy.ceiling,
                    category=VERB_CATEGORIES.get(verb, "action"),
                    effective_at=moment,
                )
                for verb in VERB_NAMES
                if verb not in known
            ]
            session.add_all(rows)
        return rows

    def register_tool(
        self,
        name: str,
        *,
        energy_cost: float = 2.0,
        energy_cost_category: str | None = None,
        energy_cost_floor: float | None = None,
        energy_cost_factors: Mapping[str, Any] | None = None,
        allowed_contexts: Sequence[str] = ("chat",),
        description: str | None = None,
    ) -> McpTool:
        """Enter a discovered tool and its first price: ``register_tool(name, **energy_for_tool(...).to_row())``.

        Args:
            name: such as ``slack:send_message``.
            energy_cost: base cost, energy.
            energy_cost_category: ``read``, ``create``, ``modify``, ``send_private``, ``send_public`` or ``delete``.
            energy_cost_floor: least cost ever, energy; by default that of the category.
            energy_cost_factors: what the cost was made of.
            allowed_contexts: where the tool may be used: ``chat``, ``heartbeat``.
            description: what the tool does.

        Raises:
            StoreError: the tool is registered already, or the numbers don't fit.
        """
        least = floor_of_category(energy_cost_category)
        row = McpTool(
            id=uuid.uuid4(),
            name=name,
            description=description,
            energy_cost=float(energy_cost),
            energy_cost_category=energy_cost_category,
            energy_cost_factors=None if energy_cost_factors is None else dict(energy_cost_factors),
            energy_cost_floor=energy_cost_floor if energy_cost_floor is not None else (least or None),
            allowed_contexts=list(allowed_contexts),
        )
        with self._writing(f"tool {name!r}") as session:
            session.add(row)
        return row

    def tools(self) -> list[McpTool]:
        """All registered tools, by name; ``energy_cost`` is the price in force."""
        with self._reading() as session:
            return list(session.scalars(sa.select(McpTool).order_by(McpTool.name)))

    def price(self, target_type: str, target_name: str) -> EnergyCost:
        """The price in force of a target.

        Raises:
            ProposalError: the target has none.
        """
        with self._reading() as session:
            return self._last(session, target_type, target_name)

    def prices(self, as_of: datetime.datetime | None = None) -> list[EnergyCost]:
        """The price list at a moment (None: now), by type and name: one row for every target registered by then.

        Raises:
            StoreError: a moment without a zone, or in the future.
        """
        with self._reading() as session:
            moment = self._past(session, as_of)
            newest = (
                sa.select(
                    EnergyCost.target_type,
                    EnergyCost.target_name,
                    sa.func.max(EnergyCost.revision).label("revision"),
                )
                .where(EnergyCost.effective_at <= moment)
                .group_by(EnergyCost.target_type, EnergyCost.target_name)
                .subquery()
            )
            joined = sa.and_(
                *(
                    getattr(EnergyCost, name) == newest.c[name]
                    for name in ("target_type", "target_name", "revision")
                )
            )
            ordered = (
                sa.select(EnergyCost)
                .join(newest, joined)
                .order_by(EnergyCost.target_type, EnergyCost.target_name)
            )
            return list(session.scalars(ordered))

    def history(self, target_type: str, target_name: str) -> list[EnergyCost]:
        """Every price that a target has had, oldest first.

        Raises:
            ProposalError: the target has none.
        """
        with self._reading() as session:
            self._last(session, target_type, target_name)
            return list(
                session.scalars(
                    sa.select(EnergyCost)
                    .where(EnergyCost.target_type == target_type, EnergyCost.target_name == target_name)
                    .order_by(EnergyCost.revision)
                )
            )

    # --------------------------------------------------------------------------------- the agent's side

    def file_proposal(
        self,
        target_type: str,
        target_name: str,
        *,
        suggested_min: float,
        suggested_max: float,
        direction: str,
        rationale: str,
        confidence: float,
        evidence: Sequence[Mapping[str, str]],
        current_cost: float | None = None,
        heartbeat_refs: Sequence[int] | None = None,
        memory_refs: Sequence[uuid.UUID] | None = None,
        origin: Origin | None = None,
    ) -> EnergyCostProposal:
        """File an argument for another cost. It changes nothing until it is approved.

        Args:
            target_type: ``action`` or ``mcp_tool``.
            target_name: the verb or tool, which has a price.
            suggested_min: lower end of the range asked for, energy; at least the floor.
            suggested_max: upper end of the range asked for, energy; at most the ceiling.
            direction: ``increase`` or ``decrease``.
            rationale: the argument.
            confidence: in it, 0 to 1.
            evidence: at least one ``{"source": ..., "summary": ...}``.
            current_cost: what the agent paid, energy; by default the price in force.
            heartbeat_refs: heartbeats in which discomfort was noted.
            memory_refs: memories that support it.
            origin: the line of a ledger that it comes from, which is remembered.

        Raises:
            ProposalError: a pending one for the target, no price, no evidence, a range under the floor, ...
        """
        row = EnergyCostProposal(
            id=uuid.uuid4(),
            target_type=target_type,
            target_name=target_name,
            suggested_min=float(suggested_min),
            suggested_max=float(suggested_max),
            direction=direction,
            rationale=rationale,
            confidence=float(confidence),
            evidence=_evidence(evidence),
            heartbeat_refs=None if heartbeat_refs is None else list(heartbeat_refs),
            memory_refs=None if memory_refs is None else list(memory_refs),
            status=Status.PENDING.value,
        )
        with self._writing(f"proposal for {target_name!r}", ProposalError) as session:
            price = self._last(session, target_type, target_name)
            self._check_range(price, row)
            pending = session.scalar(
                sa.select(EnergyCostProposal.id).where(
                    EnergyCostProposal.target_type == target_type,
                    EnergyCostProposal.target_name == target_name,
                    EnergyCostProposal.status == Status.PENDING.value,
                )
            )
            if pending is not None:
                raise ProposalError(
                    f"{row.target} has a pending proposal already ({_short(pending)}); allowed: one at a time"
                )
            row.current_cost = price.cost if current_cost is None else float(current_cost)
            row.created_at = _now(session)
            session.add(row)
            if origin is not None:
                session.flush()
                session.add(LedgerLine(**origin._asdict(), proposal_id=row.id))
        return row

    def log_discomfort(
        self,
        *,
        heartbeat_number: int,
        action_considered: str,
        energy_cost: float,
        energy_available: float,
        deferral_reason: str,
        estimated_value: float | None = None,
        agent_notes: str | None = None,
        similar_deferrals_recent: int = 0,
        created_at: datetime.datetime | None = None,
        origin: Origin | None = None,
    ) -> CostDiscomfort:
        """Log that an action worth taking was deferred for its cost.

        Args:
            heartbeat_number: in which heartbeat.
            action_considered: what was deferred.
            energy_cost: what it would have cost, energy.
            energy_available: what there was, energy.
            deferral_reason: ``insufficient_energy``, ``cost_benefit`` or ``hoarding``.
            estimated_value: the agent's assessment, in units of its own (the lab's are bits).
            agent_notes: in its words.
            similar_deferrals_recent: how many like it in the last heartbeats.
            created_at: when; by default now.
            origin: the line of a ledger that it comes from, which is remembered.

        Raises:
            StoreError: a value that the source's schema does not allow.
        """
        row = CostDiscomfort(
            id=uuid.uuid4(),
            heartbeat_number=heartbeat_number,
            action_considered=action_considered,
            estimated_value=estimated_value,
            energy_cost=float(energy_cost),
            energy_available=float(energy_available),
            deferral_reason=deferral_reason,
            agent_notes=agent_notes,
            similar_deferrals_recent=similar_deferrals_recent,
        )
        with self._writing(f"discomfort with {action_considered!r}") as session:
            row.created_at = _now(session) if created_at is None else created_at
            session.add(row)
            if origin is not None:
                session.flush()
                session.add(LedgerLine(**origin._asdict(), discomfort_id=row.id))
        return row

    def discomfort(self, action: str | None = None) -> list[CostDiscomfort]:
        """The discomfort log, oldest first, of one action or of all."""
        query = sa.select(CostDiscomfort).order_by(CostDiscomfort.created_at, CostDiscomfort.heartbeat_number)
        if action is not None:
            query = query.where(CostDiscomfort.action_considered == action)
        with self._reading() as session:
            return list(session.scalars(query))

    def log_heartbeat(
        self,
        *,
        episode: str,
        number: int,
        opened_at: datetime.datetime,
        closed_at: datetime.datetime,
        energy_start: float,
        regenerated: float,
        spent: Mapping[str, float],
    ) -> Heartbeat:
        """Log a closed heartbeat with its intent summary.

        Args:
            episode: label of the run or episode.
            number: of the heartbeat in it, from 0.
            opened_at: with a zone.
            closed_at: with a zone.
            energy_start: energy at the opening.
            regenerated: energy that came in, less what the cap lost.
            spent: energy by intent class; a class that is not named spent nothing.

        Raises:
            StoreError: an unknown intent, a negative energy, a heartbeat that is logged already.
        """
        total = float(sum(spent.values()))
        row = Heartbeat(
            id=uuid.uuid4(),
            episode=episode,
            number=number,
            opened_at=opened_at,
            closed_at=closed_at,
            energy_start=float(energy_start),
            regenerated=float(regenerated),
            spent=total,
            energy_end=float(energy_start) + float(regenerated) - total,
        )
        with self._writing(f"heartbeat {number} of {episode!r}") as session:
            session.add(row)
            session.flush()
            session.add_all(
                IntentSummary(heartbeat_id=row.id, intent=intent, energy=float(energy))
                for intent, energy in spent.items()
            )
        return row

    def heartbeats(self, episode: str | None = None) -> list[tuple[Heartbeat, dict[str, float]]]:
        """Logged heartbeats in order, each with its energy by intent class."""
        query = sa.select(Heartbeat).order_by(Heartbeat.episode, Heartbeat.number)
        if episode is not None:
            query = query.where(Heartbeat.episode == episode)
        with self._reading() as session:
            summaries: dict[uuid.UUID, dict[str, float]] = {}
            for summary in session.scalars(sa.select(IntentSummary)):
                summaries.setdefault(summary.heartbeat_id, {})[summary.intent] = summary.energy
            return [(row, summaries.get(row.id, {})) for row in session.scalars(query)]

    def knows(self, digest: str) -> bool:
        """Whether a ledger's line was read in before."""
        with self._reading() as session:
            return session.get(LedgerLine, digest) is not None

    # --------------------------------------------------------------------------------- the human's side

    def proposals(self, status: str | None = None) -> list[EnergyCostProposal]:
        """Proposals, oldest first, in one state or in all.

        Raises:
            ProposalError: no such state.
        """
        query = sa.select(EnergyCostProposal).order_by(EnergyCostProposal.created_at, EnergyCostProposal.id)
        if status is not None:
            if status not in set(Status):
                raise ProposalError(f"status: got {status!r}; allowed: {', '.join(Status)}")
            query = query.where(EnergyCostProposal.status == status)
        with self._reading() as session:
            return list(session.scalars(query))

    def proposal(self, key: str | uuid.UUID) -> EnergyCostProposal:
        """A proposal by its id, or by the first characters of it where they are enough.

        Raises:
            ProposalError: none, or several.
        """
        with self._reading() as session:
            return self._found(session, key)

    def approve(
        self,
        key: str | uuid.UUID,
        *,
        new_cost: float | None = None,
        by: str = Reviewer.USER,
        notes: str | None = None,
    ) -> EnergyCostProposal:
        """Approve a pending proposal: the only way in which a price changes.

        Args:
            key: id of the proposal, or its first characters.
            new_cost: the price to set, energy; by default the end of the range nearest to the price in force. It has
                to be named where the proposal argues about another price than that.
            by: ``user`` or ``system``.
            notes: why.

        Raises:
            ProposalError: reviewed before (by whom and when), or the cost is outside of range, floor and ceiling.
        """
        if by not in (Reviewer.USER, Reviewer.SYSTEM):
            raise ProposalError(f"reviewed_by: got {by!r}; allowed for an approval: user, system")
        return self._review(key, Status.APPROVED, by, notes, new_cost)

    def reject(
        self, key: str | uuid.UUID, *, by: str = Reviewer.USER, notes: str | None = None
    ) -> EnergyCostProposal:
        """Reject a pending proposal; ``by`` is ``user``, ``system`` or ``timeout``.

        Raises:
            ProposalError: reviewed before, by whom and when.
        """
        return self._review(key, Status.REJECTED, by, notes)

    def withdraw(
        self, key: str | uuid.UUID, *, by: str = Reviewer.SYSTEM, notes: str | None = None
    ) -> EnergyCostProposal:
        """Take a pending proposal back. ``by`` is who recorded it: ``system`` for the agent itself, or ``user``.

        Raises:
            ProposalError: reviewed before, by whom and when.
        """
        if by not in (Reviewer.USER, Reviewer.SYSTEM):
            raise ProposalError(f"reviewed_by: got {by!r}; allowed for a withdrawal: user, system")
        return self._review(key, Status.WITHDRAWN, by, notes)

    def expire(self, age: datetime.timedelta) -> list[EnergyCostProposal]:
        """Reject, by timeout, what has been pending for ``age`` or longer; returns it.

        Raises:
            ProposalError: an age that is not above 0.
        """
        if age <= datetime.timedelta(0):
            raise ProposalError(f"age: got {age}; allowed: above 0")
        with self._reading() as session:
            old = session.scalars(
                sa.select(EnergyCostProposal.id)
                .where(
                    EnergyCostProposal.status == Status.PENDING.value,
                    EnergyCostProposal.created_at <= _now(session) - age,
                )
                .order_by(EnergyCostProposal.created_at)
            ).all()
        expired = []
        for found in old:
            try:
                expired.append(self.reject(found, by=Reviewer.TIMEOUT, notes=f"no review within {age}"))
            except ProposalError:  # reviewed in the meantime: then it is no timeout
                continue
        return expired

    # ------------------------------------------------------------------------------------------- inside

    def _review(
        self,
        key: str | uuid.UUID,
        status: Status,
        by: str,
        notes: str | None,
        asked: float | None = None,
    ) -> EnergyCostProposal:
        if by not in set(Reviewer):
            raise ProposalError(f"reviewed_by: got {by!r}; allowed: {', '.join(Reviewer)}")
        with self._writing("review", ProposalError) as session:
            # On SQLite the transaction has the lock; on PostgreSQL the row is locked until it ends.
            row = self._found(session, key, lock=True)
            if row.status != Status.PENDING:
                raise ProposalError(
                    f"proposal {_short(row.id)} is already {row.status} (by {row.reviewed_by}, "
                    f"{row.reviewed_at:%Y-%m-%d %H:%M:%S} UTC)"
                )
            moment = _now(session)
            if status is Status.APPROVED:
                price = self._last(session, row.target_type, row.target_name)
                if asked is None and row.current_cost != price.cost:
                    raise ProposalError(
                        f"cost: the proposal argues about a cost of {row.current_cost:g}, the price is {price.cost:g}; "
                        "allowed: name a cost"
                    )
                row.old_cost = price.cost
                row.new_cost = approved_cost(
                    price.cost,
                    row.suggested_min,
                    row.suggested_max,
                    row.direction,
                    floor=price.floor,
                    ceiling=price.ceiling,
                    asked=asked,
                )
                # A clock may stand still, or be set back a little; the history goes forward.
                moment = max(moment, price.effective_at + datetime.timedelta(microseconds=1))
                row.effective_at = moment
            row.status, row.reviewed_at, row.reviewed_by, row.review_notes = (
                status.value,
                moment,
                str(by),
                notes,
            )
        return row

    def _found(self, session: Session, key: str | uuid.UUID, *, lock: bool = False) -> EnergyCostProposal:
        digits = str(key).strip().lower().replace("-", "")
        if not digits or len(digits) > 32 or not set(digits) <= set("0123456789abcdef"):
            raise ProposalError(
                f"proposal: got {str(key)!r:.60}; allowed: its id, or the first characters of it"
            )
        as_text = sa.func.replace(sa.cast(EnergyCostProposal.id, sa.Text), "-", "")
        query = sa.select(EnergyCostProposal).where(as_text.like(f"{digits}%")).order_by("id").limit(2)
        rows = session.scalars(query.with_for_update() if lock else query).all()
        if not rows:
            raise ProposalError(
                f"proposal: no id begins with {digits!r}; allowed: one of `solvent proposals list`"
            )
        if len(rows) > 1:
            raise ProposalError(
                f"proposal: several ids begin with {digits!r}; allowed: more characters of it"
            )
        return rows[0]

    def _last(self, session: Session, target_type: str, target_name: str) -> EnergyCost:
        row = session.scalar(
            sa.select(EnergyCost)
            .where(EnergyCost.target_type == target_type, EnergyCost.target_name == target_name)
            .order_by(EnergyCost.revision.desc())
            .limit(1)
        )
        if row is None:
            raise ProposalError(
                f"{target_type} {target_name!r} has no price in {self.place}; allowed: register one first"
            )
        return row

    def _check_range(self, price: EnergyCost, row: EnergyCostProposal) -> None:
        if row.direction not in set(Direction):
            raise ProposalError(f"direction: got {row.direction!r}; allowed: {', '.join(Direction)}")
        if row.suggested_min < price.floor:
            raise ProposalError(
                f"suggested_min: got {row.suggested_min:g}; allowed: at least the floor {price.floor:g}"
            )
        if price.ceiling is not None and row.suggested_max > price.ceiling:
            raise ProposalError(
                f"suggested_max: got {row.suggested_max:g}; allowed: at most the ceiling {price.ceiling:g}"
            )

    def _past(self, session: Session, as_of: datetime.datetime | None) -> datetime.datetime:
        now = _now(session)
        if as_of is None:
            return now
        if as_of.tzinfo is None:
            raise StoreError(f"as_of: got {as_of.isoformat()} without a zone; allowed: a time with one")
        if as_of > now:
            raise StoreError(
                f"as_of: got {as_of.isoformat()}, which is in the future; allowed: up to now, {now.isoformat()}"
            )
        return as_of

    @contextmanager
    def _reading(self) -> Iterator[Session]:
        with self._translated("reading", StoreError), Session(self._engine) as session, session.begin():
            yield session
            session.expunge_all()

    @contextmanager
    def _writing(self, what: str, error: type[StoreError] = StoreError) -> Iterator[Session]:
        engine = self._engine.execution_options(writes=True)
        with (
            self._translated(what, error),
            Session(engine, expire_on_commit=False) as session,
            session.begin(),
        ):
            yield session

    @contextmanager
    def _translated(self, what: str, kind: type[StoreError]) -> Iterator[None]:
        """What the database refuses becomes one line."""
        try:
            yield
        except DBAPIError as error:
            raise kind(f"{self.place}: {what}: {said(error)}") from error
        except sa.exc.StatementError as error:  # a value that doesn't fit its column
            raise kind(f"{self.place}: {what}: {error.orig or error}") from error


def _now(session: Session) -> datetime.datetime:
    """The database's clock: that of this process for SQLite, the server's for PostgreSQL."""
    connection = session.connection()
    if connection.dialect.name == "sqlite":
        return datetime.datetime.now(datetime.UTC)
    moment: datetime.datetime = connection.execute(sa.text("SELECT clock_timestamp()")).scalar_one()
    return moment.astimezone(datetime.UTC)


def _evidence(items: Sequence[Mapping[str, str]]) -> list[dict[str, str]]:
    if not items:
        raise ProposalError("evidence: got none; allowed: at least one {source, summary}")
    for item in items:
        if set(item) != {"source", "summary"} or not all(isinstance(text, str) for text in item.values()):
            raise ProposalError(f"evidence: got {dict(item)!r:.80}; allowed: {{source, summary}}, both texts")
    return [dict(item) for item in items]


def _short(key: uuid.UUID) -> str:
    return str(key)[:8]
