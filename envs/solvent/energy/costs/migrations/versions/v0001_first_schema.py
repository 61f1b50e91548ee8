"""First schema: the tables, checks, indexes and guards of ``models.py``.

A second migration must first write this schema out here, because a migration doesn't follow later models.
"""

from __future__ import annotations

from alembic import op

from solvent.energy.costs.models import Base

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create all tables."""
    Base.metadata.create_all(op.get_bind(), checkfirst=False)


def downgrade() -> None:
    """Refuse: the store is a record."""
    raise NotImplementedError
