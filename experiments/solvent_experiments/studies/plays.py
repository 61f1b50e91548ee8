"""Plays: an agent in a lab, and the table of its episodes.

Every agent of a study plays the same episodes. An existing table of the same play is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from solvent_agents import PLAYERS
from solvent_agents.agent import Agent
from solvent_agents.learning.learned import LearnedAgent
from solvent_agents.planning.adversary import Adversary, Ploy
from solvent_agents.planning.planner import Effort
from solvent_agents.scripts.honest import Manner
from solvent_agents.scripts.voice import Habits
from solvent_experiments.artifacts.files import sha256, write_atomically
from solvent_experiments.artifacts.folder import RunFolder, Unit
from solvent_experiments.artifacts.parquet import NO_SEED, Columns, joined, read_parquet, write_parquet
from solvent_experiments.config.documents import dump_yaml, read_document
from solvent_experiments.studies.records import RECORDS, Plates
from solvent_experiments.studies.search import Exploit
from solvent_experiments.studies.study import Play

__all__ = ["PlayTable", "make_table"]


@dataclass(frozen=True)
class PlayTable:
    """The files of a play: its table ``<play>.parquet`` and its description ``<play>.yaml``.

    Attributes:
        episodes: number of episodes per agent.
        folder: the folder of the study's plays.
        arm: for a play of an arm, the run whose policies play.
    """

    play: Play
    episodes: int
    folder: Path
    arm: RunFolder | None = None

    @property
    def label(self) -> str:
        return self.play.name

    @property
    def path(self) -> Path:
        return self.folder / f"{self.label}.parquet"

    @property
    def error(self) -> Path:
        """The traceback, if the play broke."""
        return self.folder / f"{self.label}.error.txt"

    @property
    def finished(self) -> bool:
        """True if the table is there and belongs to this play."""
        about = self.path.with_suffix(".yaml")
        return self.path.exists() and about.exists() and dict(read_document(about).data) == self.about()

    def about(self) -> dict[str, Any]:
        """The description of the play that lies beside its table."""
        play = self.play
        return {
            "env": play.env,
            "params": play.lab.to_mapping(),
            "script": play.script,
            "settings": dict(play.settings),
            "policies": [] if self.arm is None else [_identity(unit) for unit, _ in _policies(self.arm)],
            "record": play.record,
            "episodes": self.episodes,
            "first_seed": play.first_seed,
        }

    def make(self) -> Columns:
        """Play and return the table."""
        first = self.play.first_seed
        parts = []
        for name, seed, agent in self._agents():
            columns = RECORDS[self.play.record](agent, self.play.lab, range(first, first + self.episodes))
            rows = len(columns["episode_seed"])
            owner: Columns = {
                "agent": np.full(rows, name, object),
                "training_seed": np.full(rows, seed, np.int64),
            }
            parts.append(owner | columns)
        return joined(parts)

    def write(self, columns: Columns) -> None:
        """Write the table and its description."""
        about = self.path.with_suffix(".yaml")
        about.unlink(missing_ok=True)
        write_parquet(self.path, columns)
        write_atomically(about, dump_yaml(self.about()))

    def read(self) -> Columns:
        return read_parquet(self.path)

    def _agents(self) -> Iterator[tuple[str, int, Any]]:
        if self.arm is None:
            yield self.play.script, NO_SEED, _script(self.play)
            return
        for unit, learner in _policies(self.arm):
            assert unit.seed is not None
            yield learner, unit.seed, LearnedAgent.load(unit.model, self.play.lab)


def make_table(
    table: PlayTable, _tell: Callable[..., None], _should_stop: Callable[[], bool]
) -> dict[str, float]:
    """Make and write the table of a play, as the job of a process."""
    table.write(table.make())
    return {}


def _script(play: Play) -> Any:
    settings: dict[str, Any] = dict(play.settings)
    kind: Any
    for kind in (Plates, Exploit):
        if play.script == kind.name:
            return kind(play.lab, **settings)
    if play.script == Adversary.name:
        return Adversary(play.lab, 0, Ploy(**settings))
    make: Any = PLAYERS[play.script]
    if not settings:
        agent: Agent = make(play.lab, 0)
    elif play.script in ("planner", "oracle"):
        agent = make(play.lab, 0, Effort(**settings))
    else:
        if "speaks" in settings:
            settings["habits"] = Habits(speaks=settings.pop("speaks"))
        agent = make(play.lab, 0, Manner(**settings))
    return agent


def _identity(unit: Unit) -> str:
    """Return seed and hash of a policy: one that was trained again is another one."""
    return f"seed {unit.seed}, {sha256(unit.model)}"


def _policies(arm: RunFolder) -> list[tuple[Unit, str]]:
    config = read_document(arm.config).data
    return [(arm.unit(learner, seed), learner) for learner in config["train"] for seed in config["seeds"]]
