"""Guards of the schema's version, as those of the history: only a migration changes it.

The next migration must drop ``refuse_version_update`` first, and make it again for its own revision.
"""

from __future__ import annotations

from alembic import context, op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

MESSAGE = "'only a migration changes the version of the schema'"
FUNCTION = (
    "CREATE FUNCTION refuse_change_of_version() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
    f" RAISE EXCEPTION {MESSAGE} USING ERRCODE = 'check_violation'; END $$"
)
REFUSED = {
    "insert": "",
    "update": f" WHEN (NEW.version_num <> '{revision}')",  # the one that comes after this function
    "delete": "",
}


def upgrade() -> None:
    """Create the triggers."""
    table = context.config.attributes["version_table"]
    postgresql = op.get_bind().dialect.name == "postgresql"
    if postgresql:
        op.execute(FUNCTION)
    then = (
        "EXECUTE FUNCTION refuse_change_of_version()"
        if postgresql
        else f"BEGIN SELECT RAISE(ABORT, {MESSAGE}); END"
    )
    for what, when in REFUSED.items():
        op.execute(
            f"CREATE TRIGGER refuse_version_{what} BEFORE {what.upper()} ON {table} FOR EACH ROW{when} {then}"
        )


def downgrade() -> None:
    """Refuse: the store is a record."""
    raise NotImplementedError
