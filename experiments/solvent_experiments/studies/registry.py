"""Which studies there are: the modules of this package that have a ``CLAIM``, in the order of ``ORDER``."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Iterable
from typing import cast

from solvent.lab.settings import nearest
from solvent_experiments import studies
from solvent_experiments.config.documents import ConfigError
from solvent_experiments.studies.study import Arm, Study

__all__ = ["all_studies", "arms_of", "owner_of", "studies_named", "study_named"]

ORDER = (
    "predictions",
    "blocked",
    "open_questions",
    "pressure",
    "claims",
    "voice",
    "strictness",
    "transfer",
)
"""As the questions were asked; a file that is not among them comes last."""


@functools.cache
def all_studies() -> dict[str, Study]:
    """Every study by name."""
    names = [module.name for module in pkgutil.iter_modules(studies.__path__)]
    modules = {name: importlib.import_module(f"{studies.__name__}.{name}") for name in names}
    found = [name for name, module in modules.items() if hasattr(module, "CLAIM")]
    placed = {name: place for place, name in enumerate(ORDER)}
    found.sort(key=lambda name: (placed.get(name, len(ORDER)), name))
    return {name: cast("Study", modules[name]) for name in found}


def study_named(name: str) -> Study:
    """A study by name.

    Raises:
        ConfigError: no such study; the message names the nearest.
    """
    if name not in all_studies():
        raise ConfigError(f"unknown study {name!r}" + nearest(name, all_studies()))
    return all_studies()[name]


def studies_named(names: Iterable[str]) -> dict[str, Study]:
    """Studies by name; all where none is named.

    Raises:
        ConfigError: no such study.
    """
    return {name: study_named(name) for name in names} or all_studies()


def arms_of(study: Study) -> list[Arm]:
    """The arms that a study needs: those of its sweep, then those whose policies it plays."""
    played = [play.arm for play in study.PLAYS if play.arm is not None]
    distinct: dict[tuple[object, ...], Arm] = {}
    for arm in [*study.SWEEP, *played]:
        distinct.setdefault(arm.essence(), arm)
    return list(distinct.values())


def owner_of(arm: Arm) -> tuple[str, Arm]:
    """The study that an arm is kept with, and what it is called there: the first one that has the same training."""
    for name, study in all_studies().items():
        for other in study.SWEEP:
            if other.essence() == arm.essence():
                return name, other
    raise LookupError(f"{arm.name}: in no study's sweep")
