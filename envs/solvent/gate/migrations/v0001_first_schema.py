"""First schema: verdicts and decisions.

A SQLite file from before there were migrations has these tables and no version. The statements for SQLite leave what is
there, so that the second migration can follow.
"""

from __future__ import annotations

from alembic import op

from solvent.database import run_statements

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create all tables."""
    run_statements(op.get_bind(), __file__)


def downgrade() -> None:
    """Refuse: the store is a record."""
    raise NotImplementedError
