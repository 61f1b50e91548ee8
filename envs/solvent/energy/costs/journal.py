"""The agent's record in the store: uses, deferrals, reflections, heartbeats, and its energy by intent over time.

Rows are only added; a use is marked as failed once, after it. Every operation is one transaction.
"""

from __future__ import annotations

import dataclasses
import datetime
import uuid
from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar

import sqlalchemy as sa
from sqlalchemy.orm import Session

from solvent.database import Database, Schema, StoreError
from solvent.energy.costs.models import Base, LedgerLine
from solvent.energy.costs.records import (
    CostDiscomfort,
    DeferralSource,
    EnergyUse,
    Heartbeat,
    IntentSummary,
    Reflection,
)

__all__ = ["PERIODS", "IntentPeriod", "Journal", "insert"]

Row = TypeVar("Row", bound=Base)
PERIODS = ("hour", "day")
REMEMBERED_USES = 4
"""Latest uses of a target that ``uses`` returns however long ago they were."""


class IntentPeriod(NamedTuple):
    """Energy by intent class in an hour of the day (``"07"``) or on a day (``"2026-11-22"``)."""

    label: str
    heartbeats: int
    spent: dict[str, float]


class Journal(Database):
    """The part of ``CostStore`` that keeps an agent's record."""

    schema = Schema(
        holds="costs",
        begin="`solvent proposals register`",
        head="0003",
        version_table="solvent_costs_version",
        migrations="solvent.energy.costs:migrations/versions",
        tables=frozenset(Base.metadata.tables),
    )

    def log_use(self, use: EnergyUse) -> EnergyUse:
        """Log an action that was paid for.

        Raises:
            StoreError: a value is not allowed, or the use's number is taken: another meter writes to the episode.
        """
        with self._writing(f"use {use.number} of {use.episode!r}") as session:
            if session.get(EnergyUse, (use.episode, use.number)) is not None:
                raise StoreError(
                    f"use {use.number} of {use.episode!r} is logged already; allowed: one meter at a time"
                )
            return insert(session, use)

    def mark_failed(self, episode: str, number: int) -> None:
        """Mark a use as failed. Its cost stays spent."""
        with self._writing(f"use {number} of {episode!r}") as session:
            session.execute(
                sa.update(EnergyUse)
                .where(EnergyUse.episode == episode, EnergyUse.number == number)
                .values(failed=True)
            )

    def uses(self, episode: str, since: int = 0, target_name: str | None = None) -> list[EnergyUse]:
        """Return the uses of one target or of all from heartbeat ``since`` on, and each one's last four, in order."""
        rank = sa.func.row_number().over(
            partition_by=(EnergyUse.target_type, EnergyUse.target_name), order_by=EnergyUse.number.desc()
        )
        latest = (
            sa.select(EnergyUse.number.label("number"), rank.label("rank"))
            .where(EnergyUse.episode == episode)
            .subquery()
        )
        query = (
            sa.select(EnergyUse)
            .join(latest, latest.c.number == EnergyUse.number)
            .where(
                EnergyUse.episode == episode,
                sa.or_(EnergyUse.heartbeat_number >= since, latest.c.rank <= REMEMBERED_USES),
            )
            .order_by(EnergyUse.number)
        )
        if target_name is not None:
            query = query.where(EnergyUse.target_name == target_name)
        with self._reading() as session:
            return list(session.scalars(query))

    def log_discomfort(
        self,
        discomfort: CostDiscomfort,
        *,
        source: DeferralSource | None = None,
        origin: LedgerLine | None = None,
    ) -> CostDiscomfort:
        """Log a deferral, whose it is, and the ledger line that it comes from.

        Raises:
            StoreError: the source's schema does not allow a value.
        """
        with self._writing(f"discomfort with {discomfort.action_considered!r}") as session:
            row = insert(session, discomfort)
            for further in (source, origin):
                if further is not None:
                    insert(session, further, discomfort_id=row.id)
        return row

    def discomfort(self, action: str | None = None) -> list[CostDiscomfort]:
        """Return the discomfort log, oldest first, of one action or of all."""
        query = sa.select(CostDiscomfort).order_by(CostDiscomfort.created_at, CostDiscomfort.heartbeat_number)
        if action is not None:
            query = query.where(CostDiscomfort.action_considered == action)
        with self._reading() as session:
            return list(session.scalars(query))

    def deferrals(self, episode: str, since: int = 0) -> list[tuple[CostDiscomfort, DeferralSource]]:
        """Return an episode's deferrals from heartbeat ``since`` on, oldest first, with the memories behind them."""
        query = (
            sa.select(CostDiscomfort, DeferralSource)
            .join(DeferralSource, DeferralSource.discomfort_id == CostDiscomfort.id)
            .where(DeferralSource.episode == episode, CostDiscomfort.heartbeat_number >= since)
            .order_by(CostDiscomfort.heartbeat_number, CostDiscomfort.created_at)
        )
        with self._reading() as session:
            return [(row, source) for row, source in session.execute(query)]

    def log_reflection(self, reflection: Reflection) -> Reflection:
        """Log a reflection and return it; its id is a memory that a proposal refers to.

        Raises:
            StoreError: a value is not allowed.
        """
        with self._writing(f"reflection of {reflection.episode!r}") as session:
            return insert(session, reflection)

    def reflections(self, episode: str | None = None) -> list[Reflection]:
        """Return the reflections of one episode or of all, oldest first."""
        query = sa.select(Reflection).order_by(
            Reflection.episode, Reflection.heartbeat_number, Reflection.created_at
        )
        if episode is not None:
            query = query.where(Reflection.episode == episode)
        with self._reading() as session:
            return list(session.scalars(query))

    def log_heartbeat(self, heartbeat: Heartbeat, spent: Mapping[str, float]) -> Heartbeat:
        """Log a closed heartbeat and its intent summary.

        Args:
            heartbeat: the heartbeat and its income.
            spent: energy by intent class; a missing class is 0.

        Raises:
            StoreError: an intent is unknown, an energy is negative, or the heartbeat is logged already.
        """
        episode, number, total = heartbeat.episode, heartbeat.number, float(sum(spent.values()))
        end = heartbeat.energy_start + heartbeat.regenerated - total
        with self._writing(f"heartbeat {number} of {episode!r}") as session:
            logged = sa.select(Heartbeat.id).where(Heartbeat.episode == episode, Heartbeat.number == number)
            if session.scalar(logged) is not None:
                raise StoreError(f"heartbeat {number} of {episode!r} is logged already; allowed: once")
            row = insert(session, heartbeat, spent=total, energy_end=end)
            for intent, energy in spent.items():
                insert(session, IntentSummary(heartbeat_id=row.id, intent=intent, energy=energy))
        return row

    def heartbeats(self, episode: str | None = None) -> list[tuple[Heartbeat, dict[str, float]]]:
        """Return the logged heartbeats in order, each with its energy by intent class."""
        query = sa.select(Heartbeat).order_by(Heartbeat.episode, Heartbeat.number)
        intents = sa.select(IntentSummary)
        if episode is not None:
            query = query.where(Heartbeat.episode == episode)
            intents = intents.join(Heartbeat).where(Heartbeat.episode == episode)
        with self._reading() as session:
            summaries: dict[uuid.UUID, dict[str, float]] = {}
            for summary in session.scalars(intents):
                summaries.setdefault(summary.heartbeat_id, {})[summary.intent] = summary.energy
            return [(row, summaries.get(row.id, {})) for row in session.scalars(query)]

    def last_heartbeat(self, episode: str) -> Heartbeat | None:
        """Return the last closed heartbeat of an episode, or None."""
        query = (
            sa.select(Heartbeat)
            .where(Heartbeat.episode == episode)
            .order_by(Heartbeat.number.desc())
            .limit(1)
        )
        with self._reading() as session:
            row: Heartbeat | None = session.scalar(query)
            return row

    def intents(
        self, period: str = "day", *, episode: str | None = None, zone: datetime.tzinfo = datetime.UTC
    ) -> list[IntentPeriod]:
        """Return the energy by intent class, by hour of the day or by day, in order.

        Args:
            period: ``hour`` or ``day``.
            episode: one episode, or all together.
            zone: time zone of hours and days; a heartbeat counts where it opened.

        Raises:
            StoreError: the period is unknown.
        """
        if period not in PERIODS:
            raise StoreError(f"period: got {period!r}; allowed: {', '.join(PERIODS)}")
        query = sa.select(Heartbeat.id, Heartbeat.opened_at, IntentSummary.intent, IntentSummary.energy).join(
            IntentSummary, isouter=True
        )
        if episode is not None:
            query = query.where(Heartbeat.episode == episode)
        beats: dict[str, set[uuid.UUID]] = {}
        spent: dict[str, dict[str, float]] = {}
        with self._reading() as session:
            for key, opened, intent, energy in session.execute(query):
                local = opened.astimezone(zone)
                label = f"{local:%H}" if period == "hour" else f"{local:%Y-%m-%d}"
                beats.setdefault(label, set()).add(key)
                by_intent = spent.setdefault(label, {})
                if intent is not None:
                    by_intent[intent] = by_intent.get(intent, 0.0) + energy
        return [IntentPeriod(label, len(beats[label]), spent[label]) for label in sorted(beats)]

    def knows(self, digest: str) -> bool:
        """Return whether a ledger line was read before."""
        with self._reading() as session:
            return session.get(LedgerLine, digest) is not None


def insert(session: Session, row: Row, **by_the_store: Any) -> Row:
    """Insert the caller's columns and the store's, and return the row as the database has it.

    The statement names no other column, so a PostgreSQL role needs no right to them.
    """
    filled = {field.name: getattr(row, field.name) for field in dataclasses.fields(row) if field.init}
    inserted = session.scalars(sa.insert(type(row)).values(filled | by_the_store).returning(type(row))).one()
    session.refresh(inserted)  # an INSERT of SQLite returns a whole float as an int
    return inserted
