"""Trained policies shipped with the package, by name: ``ppo:Solvent/Tiny-v0``.

They are policy files in ``shipped_policies``, a folder a level; ``make policies`` trains them again from their configs.
"""

from __future__ import annotations

from pathlib import Path

from solvent.lab.settings import nearest

__all__ = ["SHIPPED", "is_shipped_name", "shipped_name", "shipped_policies", "shipped_policy"]

SHIPPED = Path(__file__).parent / "shipped_policies"
NAMESPACE = "Solvent/"
WEIGHTS = "policy.safetensors"


def is_shipped_name(name: str) -> bool:
    """Return whether ``name`` has the form of a shipped policy: an agent, a colon, an environment's id."""
    return f":{NAMESPACE}" in name


def shipped_name(agent: str, env: str) -> str:
    """Return a name such as ``ppo:Solvent/Tiny-v0``."""
    return f"{agent}:{env}"


def shipped_policies() -> dict[str, Path]:
    """Return the weights' path of every shipped policy by name."""
    found = sorted(SHIPPED.glob(f"*/*/{WEIGHTS}"))
    return {shipped_name(path.parent.name, NAMESPACE + path.parent.parent.name): path for path in found}


def shipped_policy(name: str) -> Path:
    """Return the weights' path of a shipped policy.

    Raises:
        ValueError: there is no such policy; the message names the existing ones.
    """
    known = shipped_policies()
    if name not in known:
        raise ValueError(f"no policy of this name is shipped: {name!r:.80}" + nearest(name, known))
    return known[name]
