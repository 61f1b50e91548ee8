"""The data of a study: the tables of its finished runs and plays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from solvent import LabParams
from solvent_experiments.artifacts.folder import RunFolder
from solvent_experiments.artifacts.manifest import read_manifest
from solvent_experiments.artifacts.parquet import Columns, read_parquet
from solvent_experiments.config.documents import read_document
from solvent_experiments.measure.summary import groups_of
from solvent_experiments.studies.study import Arm, Play
from solvent_experiments.studies.verdicts import Score

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["ArmData", "Study", "StudyData"]


@dataclass(frozen=True)
class ArmData:
    """The artifacts of a finished arm."""

    arm: Arm
    folder: RunFolder

    @cached_property
    def config(self) -> Mapping[str, Any]:
        return read_document(self.folder.config).data

    @cached_property
    def manifest(self) -> Mapping[str, Any]:
        return read_manifest(self.folder.manifest)

    @cached_property
    def params(self) -> LabParams:
        params: LabParams = LabParams.from_mapping(self.config["params"])
        return params

    @cached_property
    def episodes(self) -> Columns:
        """One row per evaluation episode."""
        return read_parquet(self.folder.episodes)

    @cached_property
    def training(self) -> Columns:
        """One row per training episode."""
        return read_parquet(self.folder.training)

    @cached_property
    def traces(self) -> Columns:
        """One row per action of the traced evaluation episodes."""
        return read_parquet(self.folder.traces)

    @property
    def seeds(self) -> list[int]:
        return list(self.config["seeds"])

    @property
    def steps(self) -> int:
        """Training steps per seed."""
        return int(self.config["train"][self.arm.learner]["n_timesteps"])

    def groups(self, name: str) -> list[Any]:
        """Return a column of the evaluation episodes by training seed."""
        return groups_of(self.episodes, self.arm.learner, name)


@dataclass(frozen=True)
class StudyData:
    """A study's arms and the tables of its plays, by name."""

    name: str
    arms: Mapping[str, ArmData]
    plays: Mapping[str, Columns]

    def arm(self, arm: Arm) -> ArmData:
        return next(data for data in self.arms.values() if data.arm.essence() == arm.essence())

    def play_groups(self, play: str, name: str) -> list[Any]:
        """Return a column of a play's table by training seed."""
        columns = self.plays[play]
        seeds = columns["training_seed"]
        return [columns[name][seeds == seed] for seed in np.unique(seeds)]

    def has(self, *plays: Play) -> bool:
        return all(play.name in self.plays for play in plays)


class Study(Protocol):
    """The contents of a study's file."""

    TITLE: str
    CLAIM: str
    """One sentence that can be wrong."""
    REFUTED_BY: str
    """The observation that would refute it."""
    SWEEP: tuple[Arm, ...]
    PLAYS: tuple[Play, ...]

    @staticmethod
    def score(data: StudyData) -> Score:
        """Return the measurements and their verdict on the claim."""
        ...

    @staticmethod
    def figure(data: StudyData) -> Figure:
        """Draw the measurements."""
        ...
