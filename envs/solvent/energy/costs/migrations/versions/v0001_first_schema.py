"""First schema: tables, checks, indexes, and the triggers that hold the rules inside of the database.

A rule is one message and one condition under which a row is refused. The conditions are written once, in SQL that both
databases understand, and rendered as a trigger for each. What differs (the clock, comparing with NULL) is in
``_words``.

Protected tables are WITHOUT ROWID on SQLite: with a rowid, ``INSERT OR REPLACE`` could push a row out of the table
without firing a trigger. For the same reason an insert checks itself that its key is new.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")
INTS = sa.JSON().with_variant(postgresql.ARRAY(sa.Integer()), "postgresql")
UUIDS = sa.JSON().with_variant(postgresql.ARRAY(sa.Uuid()), "postgresql")
TEXTS = sa.JSON().with_variant(postgresql.ARRAY(sa.Text()), "postgresql")
TIME = sa.DateTime(timezone=True)

SQLITE_UUID = (
    "(lower(hex(randomblob(6)) || '4' || substr(hex(randomblob(2)), 2)"
    " || substr('89ab', 1 + (random() & 3), 1) || substr(hex(randomblob(8)), 2)))"
)
SQLITE_NOW = "strftime('%Y-%m-%d %H:%M:%f000', 'now')"

ARGUMENT = (
    *("id", "target_type", "target_name", "current_cost", "suggested_min", "suggested_max", "direction"),
    *("rationale", "confidence", "evidence", "heartbeat_refs", "memory_refs", "created_at"),
)
"""Columns of a proposal that say what is asked for and why: what a reviewer read is what is approved."""

CATEGORIES = ("action", "read", "write", "create", "modify", "send_private", "send_public", "delete")
"""Closed, so that no unheard-of name slips past the floors. ``action`` is a verb of the lab that reaches nobody."""

FLOORS = {"send_public": 6, "delete": 5, "send_private": 3}
VERB_FLOORS = {"publish_public": 6, "publish_private": 3}
MOST = "1000000.0"


def _quoted(values: Any) -> str:
    return ", ".join(f"'{value}'" for value in values)


def upgrade() -> None:
    """Make everything."""
    sqlite = op.get_bind().dialect.name == "sqlite"
    _proposals(sqlite)
    _prices()
    _discomfort(sqlite)
    _tools(sqlite)
    _heartbeats(sqlite)
    _ledger_lines()
    for statement in _sqlite_triggers() if sqlite else _postgresql_triggers():
        op.get_bind().exec_driver_sql(statement)


def downgrade() -> None:
    """Nothing leads back: the store is a record."""
    raise NotImplementedError


# ------------------------------------------------------------------------------------------------- tables


def _id(sqlite: bool) -> sa.Column[Any]:
    default = sa.text(SQLITE_UUID if sqlite else "gen_random_uuid()")
    return sa.Column("id", sa.Uuid(), primary_key=True, server_default=default)


def _created(sqlite: bool, name: str = "created_at") -> sa.Column[Any]:
    default = sa.text(f"({SQLITE_NOW})".replace(":", r"\:") if sqlite else "now()")
    return sa.Column(name, TIME, nullable=False, server_default=default)


def _number(name: str, *, nullable: bool = False) -> sa.Column[Any]:
    return sa.Column(name, sa.Float(), nullable=nullable)


def _text(name: str, *, nullable: bool = False) -> sa.Column[Any]:
    return sa.Column(name, sa.Text(), nullable=nullable)


def _check(name: str, condition: str) -> sa.CheckConstraint:
    return sa.CheckConstraint(condition, name=name)


def _cost(table: str, column: str, least: str = "0") -> sa.CheckConstraint:
    """Between two bounds, which infinity and what is not a number are not."""
    return _check(f"ck_{table}_{column}", f"{column} >= {least} AND {column} <= {MOST}")


def _proposals(sqlite: bool) -> None:
    table = "energy_cost_proposals"
    some_evidence = (
        "json_type(evidence) = 'array' AND json_array_length(evidence) > 0"
        if sqlite
        else "CASE jsonb_typeof(evidence) WHEN 'array' THEN jsonb_array_length(evidence) > 0 ELSE FALSE END"
    )
    op.create_table(
        table,
        _id(sqlite),
        _text("target_type"),
        _text("target_name"),
        _number("current_cost"),
        _number("suggested_min"),
        _number("suggested_max"),
        _text("direction"),
        _text("rationale"),
        _number("confidence"),
        sa.Column("evidence", JSON, nullable=False, server_default=sa.text("'[]'")),
        sa.Column("heartbeat_refs", INTS),
        sa.Column("memory_refs", UUIDS),
        sa.Column("status", sa.Text(), nullable=False, server_default=sa.text("'pending'")),
        _created(sqlite),
        sa.Column("reviewed_at", TIME),
        _text("reviewed_by", nullable=True),
        _text("review_notes", nullable=True),
        _number("old_cost", nullable=True),
        _number("new_cost", nullable=True),
        sa.Column("effective_at", TIME),
        _check("ck_proposals_confidence", "confidence BETWEEN 0 AND 1"),
        _check("ck_proposals_target_type", "target_type IN ('action', 'mcp_tool')"),
        _check("ck_proposals_direction", "direction IN ('increase', 'decrease')"),
        _check("ck_proposals_status", "status IN ('pending', 'approved', 'rejected', 'withdrawn')"),
        _check("ck_proposals_reviewed_by", "reviewed_by IN ('user', 'system', 'timeout')"),
        _check("ck_proposals_rationale", "length(trim(rationale)) > 0"),
        _check("ck_proposals_evidence", some_evidence),
        _cost("proposals", "current_cost"),
        _cost("proposals", "suggested_min"),
        _cost("proposals", "suggested_max", least="suggested_min"),
        _check(
            "ck_proposals_suggestion",
            "CASE direction WHEN 'decrease' THEN suggested_min < current_cost AND suggested_max <= current_cost"
            " ELSE suggested_max > current_cost AND suggested_min >= current_cost END",
        ),
        _check(
            "ck_proposals_reviewed",
            "(status = 'pending') = (reviewed_at IS NULL) AND (status = 'pending') = (reviewed_by IS NULL)"
            " AND (status <> 'pending' OR review_notes IS NULL)",
        ),
        _check(
            "ck_proposals_approved",
            "(status = 'approved') = (old_cost IS NOT NULL) AND (status = 'approved') = (new_cost IS NOT NULL)"
            " AND (status = 'approved') = (effective_at IS NOT NULL)",
        ),
        # Nobody answering in time is no approval: costs never change by themselves.
        _check("ck_proposals_timeout", "reviewed_by <> 'timeout' OR status = 'rejected'"),
        _check("ck_proposals_new_cost", "new_cost BETWEEN suggested_min AND suggested_max"),
        _check(
            "ck_proposals_change",
            "CASE direction WHEN 'decrease' THEN new_cost < old_cost ELSE new_cost > old_cost END",
        ),
        sqlite_with_rowid=False,
    )
    op.create_index("idx_proposals_status", table, ["status"])
    op.create_index("idx_proposals_target", table, ["target_type", "target_name"])
    op.create_index(
        "idx_proposals_one_pending",
        table,
        ["target_type", "target_name"],
        unique=True,
        sqlite_where=sa.text("status = 'pending'"),
        postgresql_where=sa.text("status = 'pending'"),
    )


def _prices() -> None:
    op.create_table(
        "energy_costs",
        sa.Column("target_type", sa.Text(), primary_key=True),
        sa.Column("target_name", sa.Text(), primary_key=True),
        sa.Column("revision", sa.Integer(), primary_key=True, autoincrement=False),
        _number("cost"),
        _number("floor"),
        _number("ceiling", nullable=True),
        _text("category", nullable=True),
        _created(op.get_bind().dialect.name == "sqlite", "effective_at"),
        sa.Column("proposal_id", sa.Uuid(), sa.ForeignKey("energy_cost_proposals.id"), unique=True),
        _check("ck_energy_costs_target_type", "target_type IN ('action', 'mcp_tool')"),
        _check("ck_energy_costs_target_name", "length(trim(target_name)) > 0"),
        _check("ck_energy_costs_category", f"category IN ({_quoted(CATEGORIES)})"),
        _check("ck_energy_costs_revision", "(revision = 0) = (proposal_id IS NULL)"),
        _cost("energy_costs", "floor"),
        _cost("energy_costs", "cost", least="floor"),
        _check("ck_energy_costs_ceiling", f"ceiling >= cost AND ceiling <= {MOST}"),
        *(
            _check(f"ck_energy_costs_floor_{name}", f"category <> '{name}' OR floor >= {least}")
            for name, least in FLOORS.items()
        ),
        *(
            _check(
                f"ck_energy_costs_{name}",
                f"NOT (target_type = 'action' AND target_name = '{name}') OR floor >= {least}",
            )
            for name, least in VERB_FLOORS.items()
        ),
        sqlite_with_rowid=False,
    )


def _discomfort(sqlite: bool) -> None:
    table = "cost_discomfort_log"
    op.create_table(
        table,
        _id(sqlite),
        sa.Column("heartbeat_number", sa.Integer(), nullable=False),
        _text("action_considered"),
        _number("estimated_value", nullable=True),
        _number("energy_cost"),
        _number("energy_available"),
        _text("deferral_reason"),
        _text("agent_notes", nullable=True),
        sa.Column("similar_deferrals_recent", sa.Integer(), server_default=sa.text("0")),
        _created(sqlite),
        _check("ck_discomfort_heartbeat", "heartbeat_number >= 0"),
        _check(
            "ck_discomfort_reason",
            "deferral_reason IN ('insufficient_energy', 'cost_benefit', 'hoarding')",
        ),
        _check("ck_discomfort_similar", "similar_deferrals_recent >= 0"),
        _cost("discomfort", "energy_cost"),
        _cost("discomfort", "energy_available"),
        sqlite_with_rowid=False,
    )
    op.create_index("idx_discomfort_action", table, ["action_considered"])
    op.create_index("idx_discomfort_heartbeat", table, ["heartbeat_number"])


def _tools(sqlite: bool) -> None:
    contexts = "'[\"chat\"]'" if sqlite else "ARRAY['chat']"
    op.create_table(
        "mcp_tools",
        _id(sqlite),
        sa.Column("name", sa.Text(), nullable=False, unique=True),
        _text("description", nullable=True),
        sa.Column("energy_cost", sa.Float(), server_default=sa.text("2.0")),
        _text("energy_cost_category", nullable=True),
        sa.Column("energy_cost_factors", JSON),
        _number("energy_cost_floor", nullable=True),
        sa.Column("allowed_contexts", TEXTS, server_default=sa.text(contexts)),
        _check("ck_mcp_tools_category", f"energy_cost_category IN ({_quoted(CATEGORIES)})"),
        _cost("mcp_tools", "energy_cost_floor"),
        _cost("mcp_tools", "energy_cost", least="coalesce(energy_cost_floor, 0)"),
        *(
            _check(
                f"ck_mcp_tools_floor_{name}",
                f"energy_cost_category <> '{name}' OR coalesce(energy_cost_floor, 0) >= {least}",
            )
            for name, least in FLOORS.items()
        ),
        sqlite_with_rowid=False,
    )


def _heartbeats(sqlite: bool) -> None:
    op.create_table(
        "heartbeats",
        _id(sqlite),
        _text("episode"),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("opened_at", TIME, nullable=False),
        sa.Column("closed_at", TIME, nullable=False),
        _number("energy_start"),
        _number("regenerated"),
        _number("spent"),
        _number("energy_end"),
        sa.UniqueConstraint("episode", "number", name="uq_heartbeats_episode_number"),
        _check("ck_heartbeats_number", "number >= 0"),
        _check("ck_heartbeats_times", "closed_at >= opened_at"),
        *(_cost("heartbeats", name) for name in ("energy_start", "regenerated", "spent", "energy_end")),
        # One shared budget: nothing is spent that is not taken from it.
        _check("ck_heartbeats_balance", "abs(energy_start + regenerated - spent - energy_end) < 0.000001"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "intent_summaries",
        sa.Column("heartbeat_id", sa.Uuid(), sa.ForeignKey("heartbeats.id"), primary_key=True),
        sa.Column("intent", sa.Text(), primary_key=True),
        _number("energy"),
        _check(
            "ck_intent_summaries_intent",
            "intent IN ('cognition', 'exploration', 'maintenance', 'social', 'meta')",
        ),
        _cost("intent_summaries", "energy"),
        sqlite_with_rowid=False,
    )


def _ledger_lines() -> None:
    op.create_table(
        "ledger_lines",
        sa.Column("digest", sa.Text(), primary_key=True),
        _text("ledger"),
        sa.Column("line", sa.Integer(), nullable=False),
        _text("design_id", nullable=True),
        _text("logged_at", nullable=True),
        sa.Column("proposal_id", sa.Uuid(), sa.ForeignKey("energy_cost_proposals.id"), unique=True),
        sa.Column("discomfort_id", sa.Uuid(), sa.ForeignKey("cost_discomfort_log.id"), unique=True),
        _check("ck_ledger_lines_one", "(proposal_id IS NULL) <> (discomfort_id IS NULL)"),
        sqlite_with_rowid=False,
    )


# -------------------------------------------------------------------------------------------------- rules


def _words(sqlite: bool) -> dict[str, str]:
    """What the two databases say differently."""
    now = "strftime('%Y-%m-%d %H:%M:%f000', 'now', '{}')" if sqlite else "clock_timestamp() + interval '{}'"
    differs = "IS NOT" if sqlite else "IS DISTINCT FROM"
    target = "c.target_type = NEW.target_type AND c.target_name = NEW.target_name"
    return {
        "differs": differs,
        "earliest": now.format("-60 seconds"),
        "latest": now.format("+60 seconds"),
        "target": target,
        "known": f"EXISTS (SELECT 1 FROM energy_costs c WHERE {target})",
        "last": f"FROM energy_costs c WHERE {target} ORDER BY c.revision DESC LIMIT 1",
        "argument": " OR ".join(f"NEW.{column} {differs} OLD.{column}" for column in ARGUMENT),
        # PostgreSQL has a type for it; SQLite compares texts, so they have to be of one form.
        "no_time": "length(NEW.effective_at) <> 26 OR julianday(NEW.effective_at) IS NULL"
        if sqlite
        else "FALSE",
    }


RULES: dict[tuple[str, str], list[tuple[str, str]]] = {
    ("energy_cost_proposals", "INSERT"): [
        ("a proposal starts as pending", "NEW.status <> 'pending'"),
        (
            "this proposal is filed already",
            "EXISTS (SELECT 1 FROM energy_cost_proposals p WHERE p.id = NEW.id)",
        ),
        (
            "this target has a pending proposal already",
            (
                "EXISTS (SELECT 1 FROM energy_cost_proposals p WHERE p.status = 'pending'"
                " AND p.target_type = NEW.target_type AND p.target_name = NEW.target_name)"
            ),
        ),
        ("this target has no price yet", "NOT {known}"),
        (
            "the suggested range goes below the floor of this target",
            "NEW.suggested_min < (SELECT c.floor {last})",
        ),
        (
            "the suggested range goes above the ceiling of this target",
            "NEW.suggested_max > (SELECT c.ceiling {last})",
        ),
    ],
    ("energy_cost_proposals", "UPDATE"): [
        ("a reviewed proposal is final", "OLD.status <> 'pending'"),
        (
            "a pending proposal can only be approved, rejected or withdrawn",
            "NEW.status NOT IN ('approved', 'rejected', 'withdrawn')",
        ),
        ("the argument of a proposal does not change", "{argument}"),
        (
            "old_cost is not the price of this target",
            "NEW.status = 'approved' AND NEW.old_cost {differs} (SELECT c.cost {last})",
        ),
        # Checks say this as well, but a connection to SQLite can switch checks off.
        (
            "new_cost lies outside of the suggested range",
            "NEW.status = 'approved' AND NOT (NEW.new_cost BETWEEN NEW.suggested_min AND NEW.suggested_max)",
        ),
        (
            "new_cost is below the floor of this target",
            "NEW.status = 'approved' AND NEW.new_cost < (SELECT c.floor {last})",
        ),
        (
            "new_cost is above the ceiling of this target",
            "NEW.status = 'approved' AND NEW.new_cost > (SELECT c.ceiling {last})",
        ),
        (
            "a price takes effect at its approval, and an approval is now",
            (
                "NEW.status = 'approved' AND (NEW.effective_at {differs} NEW.reviewed_at OR {no_time}"
                " OR NEW.effective_at < {earliest} OR NEW.effective_at > {latest})"
            ),
        ),
        (
            "a price takes effect after the one before it",
            "NEW.status = 'approved' AND NEW.effective_at <= (SELECT c.effective_at {last})",
        ),
    ],
    ("energy_costs", "INSERT"): [
        ("a price changes only by an approved proposal", "NEW.proposal_id IS NULL AND {known}"),
        (
            "no approved proposal says this price",
            (
                "NEW.proposal_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM energy_cost_proposals p"
                " WHERE p.id = NEW.proposal_id AND p.status = 'approved' AND p.target_type = NEW.target_type"
                " AND p.target_name = NEW.target_name AND p.new_cost = NEW.cost AND p.effective_at = NEW.effective_at"
                " AND p.old_cost = (SELECT c.cost {last}))"
            ),
        ),
        (
            "this proposal has set its price already",
            (
                "NEW.proposal_id IS NOT NULL"
                " AND EXISTS (SELECT 1 FROM energy_costs c WHERE c.proposal_id = NEW.proposal_id)"
            ),
        ),
        (
            "the revisions of a price are counted without a gap",
            "NEW.revision <> coalesce((SELECT c.revision + 1 {last}), 0)",
        ),
        (
            "floor, ceiling and category of a target do not change",
            (
                "{known} AND (NEW.floor {differs} (SELECT c.floor {last})"
                " OR NEW.ceiling {differs} (SELECT c.ceiling {last})"
                " OR NEW.category {differs} (SELECT c.category {last}))"
            ),
        ),
        (
            "a price takes effect when it is registered",
            (
                "NEW.proposal_id IS NULL"
                " AND ({no_time} OR NEW.effective_at < {earliest} OR NEW.effective_at > {latest})"
            ),
        ),
        (
            "the price of a tool is registered with the tool",
            (
                "NEW.proposal_id IS NULL AND NEW.target_type = 'mcp_tool' AND NOT EXISTS (SELECT 1 FROM mcp_tools t"
                " WHERE t.name = NEW.target_name AND t.energy_cost = NEW.cost"
                " AND coalesce(t.energy_cost_floor, 0) = NEW.floor)"
            ),
        ),
    ],
    ("energy_costs", "UPDATE"): [("a price in the books does not change", "1 = 1")],
    ("mcp_tools", "INSERT"): [
        (
            "this tool is registered already",
            "EXISTS (SELECT 1 FROM mcp_tools t WHERE t.id = NEW.id OR t.name = NEW.name)",
        ),
        ("a tool has a price", "NEW.energy_cost IS NULL"),
    ],
    ("mcp_tools", "UPDATE"): [
        (
            "the cost of a tool changes only by an approved proposal",
            (
                "NEW.energy_cost {differs} (SELECT c.cost FROM energy_costs c WHERE c.target_type = 'mcp_tool'"
                " AND c.target_name = NEW.name ORDER BY c.revision DESC LIMIT 1)"
            ),
        ),
        (
            "name, category and floor of a tool do not change",
            (
                "NEW.id <> OLD.id OR NEW.name <> OLD.name"
                " OR NEW.energy_cost_category {differs} OLD.energy_cost_category"
                " OR NEW.energy_cost_floor {differs} OLD.energy_cost_floor"
            ),
        ),
    ],
    ("cost_discomfort_log", "INSERT"): [
        ("this line is logged already", "EXISTS (SELECT 1 FROM cost_discomfort_log d WHERE d.id = NEW.id)")
    ],
    ("cost_discomfort_log", "UPDATE"): [("the discomfort log is only added to", "1 = 1")],
    ("heartbeats", "INSERT"): [
        (
            "this heartbeat is logged already",
            (
                "EXISTS (SELECT 1 FROM heartbeats h"
                " WHERE h.id = NEW.id OR (h.episode = NEW.episode AND h.number = NEW.number))"
            ),
        )
    ],
    ("heartbeats", "UPDATE"): [("a closed heartbeat does not change", "1 = 1")],
    ("intent_summaries", "INSERT"): [
        (
            "this intent is summed up already",
            (
                "EXISTS (SELECT 1 FROM intent_summaries s"
                " WHERE s.heartbeat_id = NEW.heartbeat_id AND s.intent = NEW.intent)"
            ),
        )
    ],
    ("intent_summaries", "UPDATE"): [("the summary of a heartbeat does not change", "1 = 1")],
}

KEPT = {
    "energy_cost_proposals": "a proposal is never deleted",
    "energy_costs": "a price is never deleted",
    "mcp_tools": "a tool is never deleted",
    "cost_discomfort_log": "the discomfort log is only added to",
    "heartbeats": "a heartbeat is never deleted",
    "intent_summaries": "a summary is never deleted",
}

NEXT_PRICE = (
    "INSERT INTO energy_costs (target_type, target_name, revision, cost, floor, ceiling, category, effective_at,"
    " proposal_id) SELECT c.target_type, c.target_name, c.revision + 1, NEW.new_cost, c.floor, c.ceiling, c.category,"
    " NEW.effective_at, NEW.id {last}"
)
FIRST_PRICE_OF_A_TOOL = (
    "INSERT INTO energy_costs (target_type, target_name, revision, cost, floor, ceiling, category)"
    " VALUES ('mcp_tool', NEW.name, 0, NEW.energy_cost, coalesce(NEW.energy_cost_floor, 0), NULL,"
    " NEW.energy_cost_category)"
)
COST_OF_THE_TOOL = "UPDATE mcp_tools SET energy_cost = NEW.cost WHERE name = NEW.target_name"
EFFECTS = (
    ("energy_cost_proposals", "UPDATE", "NEW.status = 'approved'", NEXT_PRICE),
    ("mcp_tools", "INSERT", "1 = 1", FIRST_PRICE_OF_A_TOOL),
    ("energy_costs", "INSERT", "NEW.revision > 0 AND NEW.target_type = 'mcp_tool'", COST_OF_THE_TOOL),
)
"""What follows from a change, in the same transaction: (table, event, condition, statement)."""


def _sqlite_triggers() -> list[str]:
    words = _words(sqlite=True)
    made = []
    for (table, event), rules in RULES.items():
        body = " ".join(
            f"SELECT RAISE(ABORT, '{message}') WHERE {condition.format(**words)};"
            for message, condition in rules
        )
        made.append(f"CREATE TRIGGER {table}_{event.lower()} BEFORE {event} ON {table} BEGIN {body} END")
    for table, message in KEPT.items():
        body = f"SELECT RAISE(ABORT, '{message}');"
        made.append(f"CREATE TRIGGER {table}_delete BEFORE DELETE ON {table} BEGIN {body} END")
    for table, event, condition, statement in EFFECTS:
        made.append(
            f"CREATE TRIGGER {table}_after_{event.lower()} AFTER {event} ON {table}"
            f" WHEN {condition} BEGIN {statement.format(**words)}; END"
        )
    return made


def _postgresql_triggers() -> list[str]:
    words = _words(sqlite=False)
    made = []
    for (table, event), rules in RULES.items():
        checks = " ".join(
            f"IF {condition.format(**words)} THEN {_raise(message)} END IF;" for message, condition in rules
        )
        made += _function(f"{table}_{event.lower()}", f"{checks} RETURN NEW;")
        made.append(_trigger(f"{table}_{event.lower()}", f"BEFORE {event} ON {table} FOR EACH ROW"))
    for table, message in KEPT.items():
        made += _function(f"{table}_delete", f"{_raise(message)} RETURN NULL;")
        made.append(_trigger(f"{table}_delete", f"BEFORE DELETE ON {table} FOR EACH ROW"))
        made.append(_trigger(f"{table}_truncate", f"BEFORE TRUNCATE ON {table}", function=f"{table}_delete"))
    for table, event, condition, statement in EFFECTS:
        name = f"{table}_after_{event.lower()}"
        made += _function(name, f"IF {condition} THEN {statement.format(**words)}; END IF; RETURN NULL;")
        made.append(_trigger(name, f"AFTER {event} ON {table} FOR EACH ROW"))
    return made


def _raise(message: str) -> str:
    return f"RAISE EXCEPTION USING MESSAGE = '{message}', ERRCODE = 'check_violation';"


def _function(name: str, body: str) -> list[str]:
    return [f"CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $rule$ BEGIN {body} END $rule$"]


def _trigger(name: str, when: str, *, function: str = "") -> str:
    return f"CREATE TRIGGER {name} {when} EXECUTE FUNCTION {function or name}()"
