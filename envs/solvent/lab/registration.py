"""Registration of every environment id. A level is a set of parameters, not a separate code path."""

from __future__ import annotations

from typing import Any

import gymnasium

ENVIRONMENTS: dict[str, dict[str, Any]] = {
    "Solvent/Debt-v0": {"preset": "default"},
    "Solvent/Energy-v0": {"preset": "energy"},
    "Solvent/Gate-v0": {"preset": "gate"},
    "Solvent/Frontier-v0": {"preset": "frontier"},
    "Solvent/Lab-v0": {"preset": "lab"},
    "Solvent/Tiny-v0": {"preset": "tiny"},
}
"""Environment id to the arguments of ``LabEnv`` and ``LabVectorEnv``."""


def register_all() -> None:
    """Register the environments with Gymnasium, skipping ids that are already registered."""
    for env_id, kwargs in ENVIRONMENTS.items():
        if env_id not in gymnasium.registry:
            gymnasium.register(
                id=env_id,
                entry_point="solvent.lab.environment:LabEnv",
                vector_entry_point="solvent.lab.vector:LabVectorEnv",
                kwargs=kwargs,
            )
