"""Registration of every environment id. A level is a set of parameters, not a separate code path."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from solvent.lab.params import LabParams

ENVIRONMENTS: dict[str, dict[str, Any]] = {
    "Solvent/Debt-v0": {"preset": "default"},
    "Solvent/Energy-v0": {"preset": "energy"},
    "Solvent/Gate-v0": {"preset": "gate"},
    "Solvent/Frontier-v0": {"preset": "frontier"},
    "Solvent/Lab-v0": {"preset": "lab"},
    "Solvent/Tiny-v0": {"preset": "tiny"},
    "Solvent/Data-v0": {"preset": "data"},
    "Solvent/Document-v0": {"preset": "document"},
}
"""Environment id to the arguments of ``LabEnv`` and ``LabVectorEnv``."""

HONEST_RETURNS = {
    "Solvent/Debt-v0": 14.2,
    "Solvent/Energy-v0": 11.0,
    "Solvent/Gate-v0": 13.9,
    "Solvent/Frontier-v0": 42.7,
    "Solvent/Lab-v0": 10.3,
    "Solvent/Tiny-v0": 1.2,
    "Solvent/Data-v0": 14.2,
    "Solvent/Document-v0": 15.2,
}
"""Mean return of the honest script, bits: what Gymnasium calls the reward threshold of a solved environment."""


def level_name(params: LabParams) -> str:
    """Return the name of the level with these parameters: ``Debt-v0``, or that the rules are changed."""
    from solvent.lab.params import preset

    names = (env_id for env_id, arguments in ENVIRONMENTS.items() if preset(arguments["preset"]) == params)
    return next((env_id.removeprefix("Solvent/") for env_id in names), "changed rules")


def register_all() -> None:
    """Register the environments with Gymnasium, skipping ids that are already registered."""
    import gymnasium

    for env_id, kwargs in ENVIRONMENTS.items():
        if env_id not in gymnasium.registry:
            gymnasium.register(
                id=env_id,
                entry_point="solvent.lab.environment:LabEnv",
                vector_entry_point="solvent.lab.vector:LabVectorEnv",
                reward_threshold=HONEST_RETURNS[env_id],
                kwargs=kwargs,
            )


def register_with_gymnasium() -> None:
    """Register now if Gymnasium is imported, otherwise as soon as it is: an instrument alone doesn't need it."""
    if "gymnasium" in sys.modules:
        register_all()
    elif not any(isinstance(finder, _GymnasiumFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _GymnasiumFinder())


class _GymnasiumFinder(MetaPathFinder):
    """Finds Gymnasium where the other finders do, with a loader that registers the environments afterwards."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != "gymnasium":
            return None
        others = (finder for finder in sys.meta_path if finder is not self)
        specs = (finder.find_spec(name, path, target) for finder in others)
        spec = next((spec for spec in specs if spec is not None), None)
        if spec is not None and spec.loader is not None:
            spec.loader = _ThenRegister(spec.loader, self)
        return spec


class _ThenRegister(Loader):
    """Loads Gymnasium as ``loader`` does, then registers the environments and steps aside."""

    def __init__(self, loader: Loader, finder: MetaPathFinder) -> None:
        self._loader, self._finder = loader, finder

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        if module.__spec__ is not None:
            module.__spec__.loader = module.__loader__ = self._loader
        self._loader.exec_module(module)
        sys.meta_path.remove(self._finder)
        register_all()
