"""Options that commands share."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from solvent_experiments.config import ConfigError

__all__ = ["Env", "Quiet", "json_object"]

Env = Annotated[str, typer.Option(help="Environment id; `solvent envs` lists them.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]


def json_object(option: str, text: str | None) -> dict[str, Any]:
    """Return the JSON object that an option holds; empty without one."""
    from solvent.files import strict_json

    if text is None:
        return {}
    try:
        found = strict_json(text)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise ConfigError(f"{option}: got {text!r:.60}; allowed: a JSON object")
    return found
