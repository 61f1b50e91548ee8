"""Triggers that keep the rules of the store against every program that writes to its tables.

Mechanism (source: *Action Cost: The Energy Model*, "Safety Invariants"). A condition that does not hold, or whose value
is NULL, refuses the statement:

    a price is never edited or removed; the next one follows from an approved proposal for its target, which names the
    old and the new cost, at most ``STEP_SHARE`` away and ``CHANGE_EVERY`` later than the change before
    floor, ceiling and category stay those of the registration, and the floor is at least that of the category
    a proposal begins as pending, its argument is never edited, and it is reviewed once
    a tool's row in ``mcp_tools`` has the price in force

Both databases get the same conditions: as statements in a trigger of SQLite, as a function in PL/pgSQL.

Known approximation: times are those that the writer gives. A tool can be uninstalled: its row is removed, and entered
again with the price in force, but perhaps with other contexts. Who may change the schema can drop a trigger, and in
SQLite that is every program that may write to the file.
"""

from __future__ import annotations

from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy.orm import Session

from solvent.energy.rules import CHANGE_EVERY, STEP_SHARE
from solvent.energy.tables import CATEGORY_HAS_ITS_FLOOR, TOOL_HAS_ITS_FLOOR

__all__ = ["TRIGGERS", "Trigger", "install_missing_triggers", "triggers_are_missing"]


class Trigger(NamedTuple):
    """What a statement on a table has to meet: conditions on ``NEW`` and ``OLD``, each with its message."""

    table: str
    event: str
    conditions: dict[str, str]

    @property
    def name(self) -> str:
        """The name in the database."""
        return f"solvent_{self.table}_{self.event.lower()}"

    def with_time(self, seconds: str) -> list[tuple[str, str]]:
        """Return messages and conditions, with the SQL text that gives a row's ``effective_at`` in seconds."""
        rows = {name: seconds.format(name) for name in ("NEW", "price")}
        return [(message, condition.format(**rows)) for message, condition in self.conditions.items()]


NEVER = "1 = 0"

_SAME_TARGET = "{row}.target_type = NEW.target_type AND {row}.target_name = NEW.target_name"
_PRICES = f"energy_costs price WHERE {_SAME_TARGET.format(row='price')}"
_LATEST = f"(SELECT max(price.revision) FROM {_PRICES})"
_PRICE_BEFORE = f"SELECT 1 FROM {_PRICES} AND price.revision = NEW.revision - 1"
_WAITED = "{NEW} >= {price} + " + f"{CHANGE_EVERY.total_seconds():.0f}"
_TOOLS_PRICE = "energy_costs price WHERE price.target_type = 'mcp_tool' AND price.target_name = NEW.name"


def _unchanged(*columns: str) -> str:
    """Return the condition that the columns stay as they are, NULL included."""
    return " AND ".join(
        f"(NEW.{name} = OLD.{name} OR NEW.{name} IS NULL AND OLD.{name} IS NULL)" for name in columns
    )


TRIGGERS = (
    Trigger("energy_costs", "UPDATE", {"a price is never edited; allowed: an approved proposal": NEVER}),
    Trigger("energy_costs", "DELETE", {"a price is never removed; allowed: an approved proposal": NEVER}),
    Trigger(
        "energy_costs", "INSERT",
        {
            "category: allowed: one of the six, or action, with at least its floor": (
                CATEGORY_HAS_ITS_FLOOR.format("NEW.")
            ),
            "revision: allowed: the next of its target": f"NEW.revision = coalesce({_LATEST} + 1, 0)",
            "floor, ceiling and category: allowed: those of the registration": (
                f"NEW.revision = 0 OR EXISTS ({_PRICE_BEFORE} AND price.floor = NEW.floor"
                " AND price.category = NEW.category AND (price.ceiling = NEW.ceiling"
                " OR price.ceiling IS NULL AND NEW.ceiling IS NULL))"
            ),
            "cost: allowed: that of an approved proposal for this target, used once": (
                f"NEW.revision = 0 OR EXISTS ({_PRICE_BEFORE} AND EXISTS ("
                f"SELECT 1 FROM energy_cost_proposals proposal WHERE {_SAME_TARGET.format(row='proposal')}"
                " AND proposal.id = NEW.proposal_id AND proposal.status = 'approved'"
                " AND proposal.old_cost = price.cost AND proposal.new_cost = NEW.cost)"
                " AND NOT EXISTS (SELECT 1 FROM energy_costs other WHERE other.proposal_id = NEW.proposal_id))"
            ),
            f"cost: allowed: a change by at most {STEP_SHARE:g} of the price at once": (
                f"NEW.revision = 0 OR EXISTS ({_PRICE_BEFORE} AND NEW.cost BETWEEN"
                f" price.cost * {1 - STEP_SHARE} AND price.cost * {1 + STEP_SHARE})"
            ),
            "cost: allowed: one change a day": (
                f"NEW.revision = 0 OR EXISTS ({_PRICE_BEFORE} AND (price.revision = 0 OR {_WAITED}))"
            ),
        },
    ),
    Trigger(
        "energy_cost_proposals", "INSERT",
        {
            "status: allowed: pending, and no review yet": (
                "NEW.status = 'pending' AND NEW.reviewed_at IS NULL AND NEW.reviewed_by IS NULL"
                " AND NEW.review_notes IS NULL AND NEW.old_cost IS NULL AND NEW.new_cost IS NULL"
                " AND NEW.effective_at IS NULL"
            ),
            "target: allowed: one with a price, and a range of two costs from its floor to its ceiling": (
                f"NEW.suggested_min < NEW.suggested_max AND EXISTS (SELECT 1 FROM {_PRICES}"
                f" AND price.revision = {_LATEST} AND NEW.suggested_min >= price.floor"
                " AND (price.ceiling IS NULL OR NEW.suggested_max <= price.ceiling))"
            ),
            "id or target: allowed: a new id, and one pending proposal at a time": (
                "NOT EXISTS (SELECT 1 FROM energy_cost_proposals proposal WHERE proposal.id = NEW.id"
                f" OR proposal.status = 'pending' AND {_SAME_TARGET.format(row='proposal')})"
            ),
        },
    ),
    Trigger(
        "energy_cost_proposals", "UPDATE",
        {
            "status: allowed: one review of a pending proposal": "OLD.status = 'pending'",
            "an argument is never edited; allowed: withdraw it and file another": _unchanged(
                "id", "target_type", "target_name", "current_cost", "suggested_min", "suggested_max", "direction",
                "rationale", "confidence", "evidence", "heartbeat_refs", "memory_refs", "created_at",
            ),
            "old_cost, new_cost and effective_at: allowed: with an approval": (
                "(NEW.status = 'approved') = (NEW.new_cost IS NOT NULL)"
                " AND (NEW.status = 'approved') = (NEW.old_cost IS NOT NULL)"
                " AND (NEW.status = 'approved') = (NEW.effective_at IS NOT NULL)"
            ),
        },
    ),
    Trigger(
        "energy_cost_proposals", "DELETE",
        {"a proposal is never removed; allowed: withdraw it": NEVER},
    ),
    Trigger(
        "mcp_tools", "INSERT",
        {
            "energy_cost_category: allowed: one of the six, or action, with at least its floor": (
                TOOL_HAS_ITS_FLOOR.format("NEW.")
            ),
            "energy_cost: allowed: the price in force": (
                f"NOT EXISTS (SELECT 1 FROM {_TOOLS_PRICE}) OR EXISTS (SELECT 1 FROM {_TOOLS_PRICE}"
                f" AND price.revision = (SELECT max(price.revision) FROM {_TOOLS_PRICE})"
                " AND price.cost = NEW.energy_cost AND price.category = NEW.energy_cost_category"
                " AND price.floor = coalesce(NEW.energy_cost_floor, 0))"
            ),
        },
    ),
    Trigger(
        "mcp_tools", "UPDATE",
        {
            "name, category, factors, floor and contexts: allowed: those of the registration": _unchanged(
                "name", "energy_cost_category", "energy_cost_factors", "energy_cost_floor", "allowed_contexts"
            ),
            "energy_cost: allowed: the price in force": (
                "NEW.energy_cost = OLD.energy_cost OR NEW.energy_cost = (SELECT price.cost"
                f" FROM {_TOOLS_PRICE} ORDER BY price.revision DESC LIMIT 1)"
            ),
        },
    ),
)  # fmt: skip


def triggers_are_missing(session: Session) -> bool:
    """Return whether the database lacks a trigger, such as one that an earlier version made."""
    return not {trigger.name for trigger in TRIGGERS} <= _present(session)


def install_missing_triggers(session: Session) -> None:
    """Create the triggers that the database lacks."""
    present, connection = _present(session), session.connection()
    schema = session.scalar(sa.text("SELECT current_schema()")) if _is_postgresql(session) else None
    for trigger in TRIGGERS:
        if trigger.name not in present:
            statements = _for_sqlite(trigger) if schema is None else _for_postgresql(trigger, schema)
            for statement in statements:
                connection.exec_driver_sql(statement)


def _is_postgresql(session: Session) -> bool:
    return session.connection().dialect.name == "postgresql"


def _present(session: Session) -> set[str]:
    query = "SELECT name FROM sqlite_master WHERE type = 'trigger'"
    if _is_postgresql(session):
        query = (
            "SELECT tgname FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid"
            " WHERE tgenabled <> 'D' AND relnamespace = current_schema()::regnamespace"
        )
    return {*session.scalars(sa.text(query))}


def _for_sqlite(trigger: Trigger) -> list[str]:
    seconds = "CAST(strftime('%s', {}.effective_at) AS INTEGER)"
    refusals = "".join(
        f"SELECT RAISE(ABORT, '{trigger.table}: {message}') WHERE NOT coalesce(({condition}), 0); "
        for message, condition in trigger.with_time(seconds)
    )
    head = f"CREATE TRIGGER {trigger.name} BEFORE {trigger.event} ON {trigger.table} FOR EACH ROW"
    return [f"{head} BEGIN {refusals}END"]


def _for_postgresql(trigger: Trigger, schema: str) -> list[str]:
    refusals = "".join(
        f"IF NOT coalesce(({condition}), FALSE) THEN RAISE EXCEPTION USING ERRCODE = 'check_violation', "
        f"MESSAGE = '{trigger.table}: {message}'; END IF; "
        for message, condition in trigger.with_time("extract(epoch FROM {}.effective_at)")
    )
    # Without a fixed path, the function would read a temporary table of the caller by the name of ours.
    quoted = schema.replace('"', '""')
    function = (
        f"CREATE OR REPLACE FUNCTION {trigger.name}() RETURNS trigger LANGUAGE plpgsql "
        f'SET search_path = "{quoted}", pg_temp AS $$ BEGIN {refusals}RETURN NEW; END $$'
    )
    head = f"CREATE OR REPLACE TRIGGER {trigger.name} BEFORE {trigger.event} ON {trigger.table} FOR EACH ROW"
    return [function, f"{head} EXECUTE FUNCTION {trigger.name}()"]
