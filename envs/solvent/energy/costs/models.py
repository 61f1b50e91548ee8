"""The tables of the store as dataclasses, whose arguments are the columns that the caller fills.

Columns, types, defaults and indexes of ``energy_cost_proposals``, ``cost_discomfort_log`` and the energy columns of
``mcp_tools`` are the source's (*Action Cost: The Energy Model*, "Schema"). The database itself enforces the checks; the
rules of filing and review are in ``rules.py``. Energies are in the units of the lab's budget, times are UTC.
"""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Iterable
from typing import Any, ClassVar

import sqlalchemy as sa
from sqlalchemy.orm import DeclarativeBase, Mapped, MappedAsDataclass, mapped_column

from solvent.energy.amounts import MOST_ENERGY
from solvent.energy.costs.columns import INTS, JSON, NEW_UUID, NOW, TEXTS, UUIDS, BySql, Number, UtcDateTime
from solvent.energy.costs.lifecycle import Direction, Reviewer, Status
from solvent.energy.pricing import ACTION, CATEGORIES
from solvent.lab.verbs import INTENTS, VERBS

__all__ = [
    "Base",
    "CostDiscomfort",
    "EnergyCost",
    "EnergyCostProposal",
    "Heartbeat",
    "IntentSummary",
    "LedgerLine",
    "McpTool",
]

CATEGORY_NAMES = (ACTION, "write", *CATEGORIES)
"""A closed list, so that no unknown name avoids the floors. ``write`` is an example in the source's schema."""

FLOORS = {name: line.floor for name, line in CATEGORIES.items() if line.floor is not None}
VERB_FLOORS = {verb.name: FLOORS[f"send_{verb.audience}"] for verb in VERBS.values() if verb.audience}
TARGETS = ("action", "mcp_tool")


class Base(MappedAsDataclass, DeclarativeBase, eq=False):
    """Base class of the tables."""

    type_annotation_map: ClassVar = {
        str: sa.Text(),
        float: Number(),
        datetime.datetime: UtcDateTime(),
        dict[str, Any]: JSON,
        list[dict[str, str]]: JSON,
        list[int]: INTS,
        list[str]: TEXTS,
        list[uuid.UUID]: UUIDS,
    }


def _check(name: str, condition: str | BySql) -> sa.CheckConstraint:
    return sa.CheckConstraint(condition, name=f"ck_{name}")


def _energy(table: str, column: str, least: str = "0") -> sa.CheckConstraint:
    """Return a check of the bounds, which infinity and NaN fail too."""
    return _check(f"{table}_{column}", f"{column} >= {least} AND {column} <= {MOST_ENERGY}")


def _one_of(name: str, column: str, values: Iterable[str]) -> sa.CheckConstraint:
    return _check(name, f"{column} IN ({', '.join(repr(str(value)) for value in values)})")


class EnergyCostProposal(Base, kw_only=True):
    """An argument for another cost, and its review.

    Attributes:
        target_type: ``action`` or ``mcp_tool``.
        target_name: the verb or tool, which has a price.
        current_cost: the cost that the agent paid, energy.
        suggested_min: lower end of the suggested range, energy; at least the floor.
        suggested_max: upper end of the suggested range, energy; at most the ceiling.
        direction: ``increase`` or ``decrease``.
        rationale: the argument.
        confidence: the agent's confidence in it, 0 to 1.
        evidence: at least one ``{"source": ..., "summary": ...}``.
        heartbeat_refs: heartbeats with discomfort.
        memory_refs: memories that support the argument.
        status: ``pending``, ``approved``, ``rejected`` or ``withdrawn``.
        old_cost, new_cost, effective_at: the change, if approved.
    """

    __tablename__ = "energy_cost_proposals"
    __table_args__ = (
        sa.Index("idx_proposals_status", "status"),
        sa.Index("idx_proposals_target", "target_type", "target_name"),
        sa.Index(
            "idx_proposals_one_pending",
            "target_type",
            "target_name",
            unique=True,
            sqlite_where=sa.text("status = 'pending'"),
            postgresql_where=sa.text("status = 'pending'"),
        ),
        sa.UniqueConstraint("id", "target_type", "target_name", "new_cost", name="uq_proposals_new_cost"),
        _one_of("proposals_target_type", "target_type", TARGETS),
        _one_of("proposals_direction", "direction", Direction),
        _one_of("proposals_status", "status", Status),
        _one_of("proposals_reviewed_by", "reviewed_by", Reviewer),
        _check("proposals_confidence", "confidence BETWEEN 0 AND 1"),
        _check("proposals_rationale", "length(trim(rationale)) > 0"),
        _check(
            "proposals_evidence",
            BySql(
                sqlite="json_type(evidence) = 'array' AND json_array_length(evidence) > 0",
                postgresql=(
                    "CASE jsonb_typeof(evidence) WHEN 'array' THEN jsonb_array_length(evidence) > 0 ELSE FALSE END"
                ),
            ),
        ),
        _energy("proposals", "current_cost"),
        _energy("proposals", "suggested_min"),
        _energy("proposals", "suggested_max", least="suggested_min"),
        _check(
            "proposals_suggestion",
            "CASE direction WHEN 'decrease' THEN suggested_min < current_cost AND suggested_max <= current_cost"
            " ELSE suggested_max > current_cost AND suggested_min >= current_cost END",
        ),
        _check(
            "proposals_reviewed",
            "(status = 'pending') = (reviewed_at IS NULL) AND (status = 'pending') = (reviewed_by IS NULL)"
            " AND (status <> 'pending' OR review_notes IS NULL)",
        ),
        _check(
            "proposals_approved",
            "(status = 'approved') = (old_cost IS NOT NULL) AND (status = 'approved') = (new_cost IS NOT NULL)"
            " AND (status = 'approved') = (effective_at IS NOT NULL)",
        ),
        # A timeout never approves: costs don't change by themselves.
        _check("proposals_timeout", "reviewed_by <> 'timeout' OR status = 'rejected'"),
        _check("proposals_new_cost", "new_cost BETWEEN suggested_min AND suggested_max"),
        _check(
            "proposals_change",
            "CASE direction WHEN 'decrease' THEN new_cost < old_cost ELSE new_cost > old_cost END",
        ),
    )

    id: Mapped[uuid.UUID] = mapped_column(primary_key=True, server_default=NEW_UUID, init=False)
    target_type: Mapped[str]
    target_name: Mapped[str]
    current_cost: Mapped[float]
    suggested_min: Mapped[float]
    suggested_max: Mapped[float]
    direction: Mapped[str]
    rationale: Mapped[str]
    confidence: Mapped[float]
    evidence: Mapped[list[dict[str, str]]] = mapped_column(server_default=sa.text("'[]'"))
    heartbeat_refs: Mapped[list[int] | None] = mapped_column(default=None)
    memory_refs: Mapped[list[uuid.UUID] | None] = mapped_column(default=None)
    status: Mapped[str] = mapped_column(server_default=sa.text("'pending'"), init=False)
    created_at: Mapped[datetime.datetime] = mapped_column(server_default=NOW, init=False)
    reviewed_at: Mapped[datetime.datetime | None] = mapped_column(init=False)
    reviewed_by: Mapped[str | None] = mapped_column(init=False)
    review_notes: Mapped[str | None] = mapped_column(init=False)
    old_cost: Mapped[float | None] = mapped_column(init=False)
    new_cost: Mapped[float | None] = mapped_column(init=False)
    effective_at: Mapped[datetime.datetime | None] = mapped_column(init=False)

    @property
    def target(self) -> str:
        """The target as text: ``action screen``, ``tool slack:send_message``."""
        return f"{'tool' if self.target_type == 'mcp_tool' else self.target_type} {self.target_name}"


class EnergyCost(Base, kw_only=True):
    """One price of one target. Revision 0 is the registration, later ones are approvals; the last is in force.

    Attributes:
        floor: lowest cost ever allowed, energy; at least 6 for a public, 5 for a destructive, 3 for a private action.
        ceiling: highest cost ever allowed, energy, or None.
        category: the category of a tool, or ``action``.
    """

    __tablename__ = "energy_costs"
    __table_args__ = (
        # A later price equals an approval's: proposals have a new cost only when they are approved.
        sa.ForeignKeyConstraint(
            ["proposal_id", "target_type", "target_name", "cost"],
            [f"energy_cost_proposals.{name}" for name in ("id", "target_type", "target_name", "new_cost")],
            name="fk_energy_costs_approval",
        ),
        _one_of("energy_costs_target_type", "target_type", TARGETS),
        _check("energy_costs_target_name", "length(trim(target_name)) > 0"),
        _one_of("energy_costs_category", "category", CATEGORY_NAMES),
        _check("energy_costs_revision", "(revision = 0) = (proposal_id IS NULL)"),
        _energy("energy_costs", "floor"),
        _energy("energy_costs", "cost", least="floor"),
        _check("energy_costs_ceiling", f"ceiling >= cost AND ceiling <= {MOST_ENERGY}"),
        *(
            _check(f"energy_costs_floor_{name}", f"category <> '{name}' OR floor >= {least}")
            for name, least in FLOORS.items()
        ),
        *(
            _check(
                f"energy_costs_{name}",
                f"target_type <> 'action' OR target_name <> '{name}' OR floor >= {least}",
            )
            for name, least in VERB_FLOORS.items()
        ),
    )

    target_type: Mapped[str] = mapped_column(primary_key=True)
    target_name: Mapped[str] = mapped_column(primary_key=True)
    revision: Mapped[int] = mapped_column(primary_key=True, autoincrement=False, default=0)
    cost: Mapped[float]
    floor: Mapped[float] = mapped_column(default=0.0)
    ceiling: Mapped[float | None] = mapped_column(default=None)
    category: Mapped[str | None] = mapped_column(default=None)
    effective_at: Mapped[datetime.datetime] = mapped_column(server_default=NOW, init=False)
    proposal_id: Mapped[uuid.UUID | None] = mapped_column(unique=True, default=None)


class CostDiscomfort(Base, kw_only=True):
    """A worthwhile action that was deferred because of its cost.

    Attributes:
        action_considered: the deferred action.
        estimated_value: the agent's estimate, in its own units (bits in the lab).
        energy_cost: its cost, energy.
        energy_available: the balance at that time, energy.
        deferral_reason: ``insufficient_energy``, ``cost_benefit`` or ``hoarding``.
        agent_notes: the agent's own words.
        similar_deferrals_recent: similar deferrals in the last heartbeats.
        created_at: by default now.
    """

    __tablename__ = "cost_discomfort_log"
    __table_args__ = (
        sa.Index("idx_discomfort_action", "action_considered"),
        sa.Index("idx_discomfort_heartbeat", "heartbeat_number"),
        _check("discomfort_heartbeat", "heartbeat_number >= 0"),
        _one_of("discomfort_reason", "deferral_reason", ("insufficient_energy", "cost_benefit", "hoarding")),
        _check("discomfort_similar", "similar_deferrals_recent >= 0"),
        _energy("discomfort", "energy_cost"),
        _energy("discomfort", "energy_available"),
    )

    id: Mapped[uuid.UUID] = mapped_column(primary_key=True, server_default=NEW_UUID, init=False)
    heartbeat_number: Mapped[int]
    action_considered: Mapped[str]
    estimated_value: Mapped[float | None] = mapped_column(default=None)
    energy_cost: Mapped[float]
    energy_available: Mapped[float]
    deferral_reason: Mapped[str]
    agent_notes: Mapped[str | None] = mapped_column(default=None)
    similar_deferrals_recent: Mapped[int | None] = mapped_column(server_default=sa.text("0"), default=0)
    created_at: Mapped[datetime.datetime] = mapped_column(
        server_default=NOW, default_factory=lambda: datetime.datetime.now(datetime.UTC)
    )


class McpTool(Base, kw_only=True):
    """A discovered tool and its cost. The five energy columns are the source's."""

    __tablename__ = "mcp_tools"
    __table_args__ = (
        _one_of("mcp_tools_category", "energy_cost_category", CATEGORY_NAMES),
        _energy("mcp_tools", "energy_cost_floor"),
        _energy("mcp_tools", "energy_cost", least="coalesce(energy_cost_floor, 0)"),
        *(
            _check(
                f"mcp_tools_floor_{name}",
                f"energy_cost_category <> '{name}' OR coalesce(energy_cost_floor, 0) >= {least}",
            )
            for name, least in FLOORS.items()
        ),
    )

    id: Mapped[uuid.UUID] = mapped_column(primary_key=True, server_default=NEW_UUID, init=False)
    name: Mapped[str] = mapped_column(unique=True)
    description: Mapped[str | None] = mapped_column(default=None)
    energy_cost: Mapped[float | None] = mapped_column(server_default=sa.text("2.0"))
    energy_cost_category: Mapped[str | None]
    energy_cost_factors: Mapped[dict[str, Any] | None]
    energy_cost_floor: Mapped[float | None]
    allowed_contexts: Mapped[list[str] | None] = mapped_column(
        server_default=BySql(sqlite="'[\"chat\"]'", postgresql="ARRAY['chat']")
    )


class Heartbeat(Base, kw_only=True):
    """The energy of one heartbeat: start + regenerated - spent = end.

    Attributes:
        episode: label of the run or episode.
        number: index of the heartbeat in the episode, from 0.
        regenerated: income less the loss to the cap, energy.
    """

    __tablename__ = "heartbeats"
    __table_args__ = (
        sa.UniqueConstraint("episode", "number", name="uq_heartbeats_episode_number"),
        _check("heartbeats_number", "number >= 0"),
        _check("heartbeats_times", "closed_at >= opened_at"),
        *(_energy("heartbeats", name) for name in ("energy_start", "regenerated", "spent", "energy_end")),
        _check("heartbeats_balance", "abs(energy_start + regenerated - spent - energy_end) < 0.000001"),
    )

    id: Mapped[uuid.UUID] = mapped_column(primary_key=True, server_default=NEW_UUID, init=False)
    episode: Mapped[str]
    number: Mapped[int]
    opened_at: Mapped[datetime.datetime]
    closed_at: Mapped[datetime.datetime]
    energy_start: Mapped[float]
    regenerated: Mapped[float]
    spent: Mapped[float] = mapped_column(init=False)
    energy_end: Mapped[float] = mapped_column(init=False)


class IntentSummary(Base, kw_only=True):
    """Energy spent on one intent class in one heartbeat."""

    __tablename__ = "intent_summaries"
    __table_args__ = (
        _one_of("intent_summaries_intent", "intent", INTENTS),
        _energy("intent_summaries", "energy"),
    )

    heartbeat_id: Mapped[uuid.UUID] = mapped_column(sa.ForeignKey("heartbeats.id"), primary_key=True)
    intent: Mapped[str] = mapped_column(primary_key=True)
    energy: Mapped[float]


class LedgerLine(Base, kw_only=True):
    """The ledger line behind a row, recorded so that a ledger can be read again."""

    __tablename__ = "ledger_lines"
    __table_args__ = (_check("ledger_lines_one", "(proposal_id IS NULL) <> (discomfort_id IS NULL)"),)

    digest: Mapped[str] = mapped_column(primary_key=True)
    ledger: Mapped[str]
    line: Mapped[int]
    design_id: Mapped[str | None]
    logged_at: Mapped[str | None]
    proposal_id: Mapped[uuid.UUID | None] = mapped_column(
        sa.ForeignKey("energy_cost_proposals.id"), unique=True, init=False
    )
    discomfort_id: Mapped[uuid.UUID | None] = mapped_column(
        sa.ForeignKey("cost_discomfort_log.id"), unique=True, init=False
    )


# The history of costs is append-only. SQLite's triggers have a body, PostgreSQL's call a function.
_MESSAGE = "'the history of costs is append-only'"
_FUNCTION = (
    "CREATE FUNCTION refuse_change_of_costs() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
    f" RAISE EXCEPTION {_MESSAGE} USING ERRCODE = 'check_violation'; END $$"
)


def _after_create(statement: str, dialect: str) -> None:
    ddl = sa.DDL(statement)  # type: ignore[no-untyped-call]
    sa.event.listen(Base.metadata, "after_create", ddl.execute_if(dialect=dialect))


_after_create(_FUNCTION, "postgresql")
for _name, _refused in (
    ("price_update", "UPDATE ON energy_costs FOR EACH ROW"),
    ("price_delete", "DELETE ON energy_costs FOR EACH ROW"),
    ("review_update", "UPDATE ON energy_cost_proposals FOR EACH ROW WHEN (OLD.status <> 'pending')"),
    ("proposal_delete", "DELETE ON energy_cost_proposals FOR EACH ROW"),
):
    _trigger = f"CREATE TRIGGER refuse_{_name} BEFORE {_refused}"
    _after_create(f"{_trigger} BEGIN SELECT RAISE(ABORT, {_MESSAGE}); END", "sqlite")
    _after_create(f"{_trigger} EXECUTE FUNCTION refuse_change_of_costs()", "postgresql")
