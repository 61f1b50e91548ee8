"""Limits on changes of costs, the grounds of a proposal, and what an ``EnergyMeter`` keeps.

Whoever approves: a price moves by at most half of itself, once a day, and never takes effect in the future; floor,
ceiling and category of a target never change. A proposal has evidence from two heartbeats and a reflection.
"""

from __future__ import annotations

from alembic import context, op

from solvent.database import run_statements

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the tables and triggers, and let the version follow."""
    connection = op.get_bind()
    run_statements(connection, __file__)
    table = context.config.attributes["version_table"]
    postgresql = connection.dialect.name == "postgresql"
    op.execute("DROP TRIGGER refuse_version_update" + (f" ON {table}" if postgresql else ""))
    then = (
        "EXECUTE FUNCTION refuse_change_of_version()"
        if postgresql
        else "BEGIN SELECT RAISE(ABORT, 'only a migration changes the version of the schema'); END"
    )
    op.execute(
        f"CREATE TRIGGER refuse_version_update BEFORE UPDATE ON {table} FOR EACH ROW"
        f" WHEN (NEW.version_num <> '{revision}') {then}"
    )


def downgrade() -> None:
    """Refuse: the store is a record."""
    raise NotImplementedError
