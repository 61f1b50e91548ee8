"""What a study is scored and drawn from: the tables of its finished runs and plays, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from solvent import LabParams
from solvent_experiments.artifacts.folder import RunFolder
from solvent_experiments.artifacts.parquet import Columns, read_parquet, select
from solvent_experiments.config.documents import read_document
from solvent_experiments.measure.summary import groups_of
from solvent_experiments.studies.study import Arm, Play
from solvent_experiments.studies.verdicts import Score

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["ArmData", "Study", "StudyData"]


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

    def has(self, *plays: Play) -> bool:
        """Whether all of these were played."""
        return all(play.name in self.plays for play in plays)


class Study(Protocol):
    """What a study's file has."""

    TITLE: str
    """A few words."""
    CLAIM: str
    """One sentence that can be wrong."""
    REFUTED_BY: str
    """What would show it to be."""
    SWEEP: tuple[Arm, ...]
    PLAYS: tuple[Play, ...]

    @staticmethod
    def score(data: StudyData) -> Score:
        """Return what was measured, and what it says about the claim."""
        ...

    @staticmethod
    def figure(data: StudyData) -> Figure:
        """Draw what was measured."""
        ...
