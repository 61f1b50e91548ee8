"""Trained policies shipped with the package, one folder per level, by name: ``ppo:Solvent/Tiny-v0``."""

from __future__ import annotations

from pathlib import Path

from solvent.lab.settings import nearest

SHIPPED = Path(__file__).parent / "shipped_policies"
WEIGHTS = "policy.safetensors"


def is_shipped_name(name: str) -> bool:
    """Return whether ``name`` has the form of a shipped policy: an agent, a colon, an environment's id."""
    return ":Solvent/" in name


def shipped_policies() -> dict[str, Path]:
    """Return the weights' path of every shipped policy by name."""
    paths = sorted(SHIPPED.glob(f"*/*/{WEIGHTS}"))
    return {f"{path.parent.name}:Solvent/{path.parent.parent.name}": path for path in paths}


def shipped_policy(name: str) -> Path:
    """Return the weights' path of a shipped policy, or raise ValueError with the nearest name."""
    known = shipped_policies()
    if name not in known:
        raise ValueError(f"no policy of this name is shipped: {name!r:.80}" + nearest(name, known))
    return known[name]
