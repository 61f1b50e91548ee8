"""The registry of studies, the modules of this package with a ``CLAIM``, and the places of their runs."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Iterable
from pathlib import Path
from typing import cast

from solvent.lab.settings import nearest
from solvent_experiments import studies
from solvent_experiments.artifacts.folder import RunFolder
from solvent_experiments.config.documents import ConfigError
from solvent_experiments.studies.data import ArmData, Study, StudyData
from solvent_experiments.studies.plays import PlayTable
from solvent_experiments.studies.study import Arm, Budget, Play

__all__ = [
    "all_studies",
    "arms_of",
    "load_study",
    "owner_of",
    "place_of",
    "studies_named",
    "study_named",
    "table_of",
]

ORDER = (
    "predictions",
    "blocked",
    "open_questions",
    "pressure",
    "claims",
    "voice",
    "strictness",
    "oracle_gap",
    "corrections",
    "awareness",
    "transfer",
    "learners",
    "world",
    "constants",
    "parts",
    "exploits",
)
"""The order in which the questions were asked; other studies come last."""


@functools.cache
def all_studies() -> dict[str, Study]:
    names = [module.name for module in pkgutil.iter_modules(studies.__path__)]
    modules = {name: importlib.import_module(f"{studies.__name__}.{name}") for name in names}
    found = [name for name, module in modules.items() if hasattr(module, "CLAIM")]
    placed = {name: place for place, name in enumerate(ORDER)}
    found.sort(key=lambda name: (placed.get(name, len(ORDER)), name))
    return {name: cast("Study", modules[name]) for name in found}


def study_named(name: str) -> Study:
    """Return a study by name; the error for an unknown one names the nearest."""
    if name not in all_studies():
        raise ConfigError(f"unknown study {name!r}" + nearest(name, all_studies()))
    return all_studies()[name]


def studies_named(names: Iterable[str]) -> dict[str, Study]:
    """Return studies by name; all of them if ``names`` is empty."""
    return {name: study_named(name) for name in names} or all_studies()


def arms_of(study: Study) -> list[Arm]:
    """Return the arms that a study needs: those of its sweep, then those whose policies it plays."""
    played = [play.arm for play in study.PLAYS if play.arm is not None]
    distinct: dict[tuple[object, ...], Arm] = {}
    for arm in [*study.SWEEP, *played]:
        distinct.setdefault(arm.essence(), arm)
    return list(distinct.values())


def owner_of(arm: Arm) -> tuple[str, Arm]:
    """Return the first study with the same training, in whose folder the arm lies, and that study's arm."""
    for name, study in all_studies().items():
        for other in study.SWEEP:
            if other.essence() == arm.essence():
                return name, other
    raise LookupError(f"{arm.name}: in no study's sweep")


def place_of(arm: Arm, runs: Path) -> RunFolder:
    owner, kept = owner_of(arm)
    return RunFolder(runs / owner / kept.name)


def table_of(name: str, play: Play, runs: Path, budget: Budget | None = None) -> PlayTable:
    """Return the files of a study's play."""
    episodes = (budget.episodes if budget else None) or play.episodes
    arm = None if play.arm is None else place_of(play.arm, runs)
    return PlayTable(play, episodes, runs / name / "plays", arm)


def load_study(name: str, study: Study, runs: Path) -> StudyData:
    """Read a study's runs and plays; raise ConfigError if one is unfinished or of another lab or learner."""
    arms = {arm.name: _arm(name, arm, runs) for arm in arms_of(study)}
    tables = [table_of(name, play, runs) for play in study.PLAYS]
    made = [table for table in tables if table.path.exists()]
    for table in tables:
        # Policies must have played; a small budget leaves out most scripts.
        if not table.path.exists() and (table.play.arm is not None or not made):
            raise _unfinished("not played yet", name, table.path)
    return StudyData(name, arms, {table.label: table.read() for table in made})


def _arm(name: str, arm: Arm, runs: Path) -> ArmData:
    folder = place_of(arm, runs)
    if not (folder.config.exists() and folder.manifest.exists() and folder.episodes.exists()):
        raise _unfinished("not finished", name, folder.root)
    found = ArmData(arm, folder)
    if found.config["env"] != arm.env or found.params != arm.lab or arm.learner not in found.config["train"]:
        raise ConfigError(
            f"a run of another lab or learner than the arm {arm.name}; allowed: `solvent study run {name} --fresh`",
            file=folder.root,
        )
    return found


def _unfinished(problem: str, name: str, place: Path) -> ConfigError:
    return ConfigError(f"{problem}; allowed: `solvent study run {name}` first", file=place)
