"""Options that commands share, and a default."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["COSTS", "Env", "Jobs", "Quiet", "Seeds"]

COSTS = "solvent_costs.db"
"""Default of ``--store``."""

Env = Annotated[str, typer.Option(help="Environment id; `solvent envs` lists them.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]
Seeds = Annotated[str | None, typer.Option(help="Training seeds instead of the config's: `0,1,2` or `0-4`.")]
Jobs = Annotated[int | None, typer.Option(min=1, help="Agents at a time.  [default: one per core]")]
