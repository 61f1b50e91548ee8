"""What a study is scored and drawn from: the tables of its finished runs and plays, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from solvent import LabParams
from solvent_experiments.artifacts.folder import RunFolder
from solvent_experiments.artifacts.parquet import Columns, read_parquet, select
from solvent_experiments.config.documents import ConfigError, read_document
from solvent_experiments.measure.summary import groups_of
from solvent_experiments.studies.playing import PlayFolder
from solvent_experiments.studies.registry import arms_of, owner_of
from solvent_experiments.studies.study import Arm, Study

__all__ = ["ArmData", "StudyData", "load_study", "place_of"]


def place_of(arm: Arm, runs: Path) -> RunFolder:
    """The folder of an arm."""
    owner, kept = owner_of(arm)
    return RunFolder(runs / owner / kept.name)


@dataclass(frozen=True)
class ArmData:
    """A finished arm."""

    arm: Arm
    folder: RunFolder

    @cached_property
    def config(self) -> Mapping[str, Any]:
        """As it was run."""
        return read_document(self.folder.config).data

    @cached_property
    def manifest(self) -> Mapping[str, Any]:
        """With what, where and when."""
        found: Mapping[str, Any] = json.loads(self.folder.manifest.read_text(encoding="utf-8"))
        return found

    @cached_property
    def params(self) -> LabParams:
        """Of its labs."""
        params: LabParams = LabParams.from_mapping(self.config["params"])
        return params

    @cached_property
    def episodes(self) -> Columns:
        """A row an evaluation episode."""
        return read_parquet(self.folder.episodes)

    @cached_property
    def training(self) -> Columns:
        """A row a training episode."""
        return read_parquet(self.folder.training)

    @cached_property
    def traces(self) -> Columns:
        """A row an action of the traced evaluation episodes."""
        return read_parquet(self.folder.traces)

    @property
    def seeds(self) -> list[int]:
        """Its training seeds."""
        return list(self.config["seeds"])

    @property
    def steps(self) -> int:
        """Training steps a seed."""
        return int(self.config["train"][self.arm.learner]["n_timesteps"])

    def groups(self, name: str) -> list[Any]:
        """A column of the evaluation episodes, a group for each training seed."""
        return groups_of(self.episodes, self.arm.learner, name)


@dataclass(frozen=True)
class StudyData:
    """All of a study's arms by name, and the tables of its plays by name."""

    name: str
    arms: Mapping[str, ArmData]
    plays: Mapping[str, Columns]

    def arm(self, arm: Arm) -> ArmData:
        """The data of one of its arms."""
        return next(data for data in self.arms.values() if data.arm.essence() == arm.essence())

    def play_groups(self, play: str, name: str) -> list[Any]:
        """A column of a play's table, a group for each training seed."""
        columns = self.plays[play]
        seeds = columns["training_seed"]
        return [columns[name][seeds == seed] for seed in np.unique(seeds)]

    def play_part(self, play: str, rows: Any) -> Columns:
        """Some rows of a play's table."""
        return select(self.plays[play], rows)


def load_study(name: str, study: Study, runs: Path) -> StudyData:
    """Read what a study has run.

    Raises:
        ConfigError: it isn't finished, or a folder holds another lab or recipe than the study's.
    """
    arms = {arm.name: _arm(name, arm, runs) for arm in arms_of(study)}
    folder = PlayFolder(runs / name / "plays")
    made = {play.name: folder.read(play) for play in study.PLAYS if folder.table(play).exists()}
    wanted = [play for play in study.PLAYS if play.arm is not None]
    _require(name, wanted, made, folder)
    if study.PLAYS and not made:
        _require(name, study.PLAYS, made, folder)
    return StudyData(name, arms, made)


def _require(name: str, plays: Any, made: Mapping[str, Columns], folder: PlayFolder) -> None:
    missing = [play for play in plays if play.name not in made]
    if missing:
        raise ConfigError(
            f"not played yet; allowed: `solvent study run {name}` first", file=folder.table(missing[0])
        )


def _arm(name: str, arm: Arm, runs: Path) -> ArmData:
    folder = place_of(arm, runs)
    if not (folder.config.exists() and folder.manifest.exists() and folder.episodes.exists()):
        raise ConfigError(f"not finished; allowed: `solvent study run {name}` first", file=folder.root)
    found = ArmData(arm, folder)
    if found.config["env"] != arm.env or found.params != arm.lab or arm.learner not in found.config["train"]:
        raise ConfigError(
            f"another lab or learner than that of the arm {arm.name}; allowed: `solvent study run {name} --fresh`",
            file=folder.root,
        )
    return found
