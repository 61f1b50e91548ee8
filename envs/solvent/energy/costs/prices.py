"""The prices of the store: registered once, changed by approvals, and never forgotten."""

from __future__ import annotations

import datetime
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.orm import Session

from solvent.database import StoreError, now
from solvent.energy.costs.journal import Journal, insert
from solvent.energy.costs.lifecycle import ProposalError
from solvent.energy.costs.models import EnergyCost, McpTool
from solvent.energy.pricing import ToolEnergy, energy_for_verb
from solvent.lab.mechanisms.energy import VERB_NAMES
from solvent.lab.params import LabParams

__all__ = ["PriceList", "Prices"]


class PriceList(NamedTuple):
    """Base costs of the lab's verbs, energy, at a moment (UTC)."""

    as_of: datetime.datetime
    costs: dict[str, float]


class Prices(Journal):
    """The part of ``CostStore`` that keeps prices."""

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
