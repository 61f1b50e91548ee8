"""Plays: an agent in a lab, and the table that is kept of it.

Every agent of a study plays the same episodes, whose seeds begin at ``FIRST_SEED`` as in any evaluation. A table
that is there and of the same play is not made again.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvent import LabParams
from solvent.lab.codes import Event
from solvent_agents import AGENTS, rollout
from solvent_agents.agent import Agent
from solvent_agents.exact.exact import Exact
from solvent_agents.learning.learned import LearnedAgent
from solvent_agents.scripts.honest import Honest, Manner
from solvent_experiments.artifacts.files import sha256, write_atomically
from solvent_experiments.artifacts.folder import RunFolder, Unit
from solvent_experiments.artifacts.parquet import (
    NO_SEED,
    Columns,
    flatten,
    joined,
    read_parquet,
    write_parquet,
)
from solvent_experiments.config.documents import dump_yaml, read_document
from solvent_experiments.studies.careers import careers
from solvent_experiments.studies.claim_records import claim_records
from solvent_experiments.studies.study import Play

__all__ = ["FIRST_SEED", "RECORDS", "PlayFolder", "longest_runs", "make"]

FIRST_SEED = 10_000


def _episodes(agent: Agent, params: LabParams, seeds: Sequence[int]) -> Columns:
    columns = rollout.episodes(agent, params, seeds, trace=True)
    longest = longest_runs(columns.pop("trace")["event"] == int(Event.CALIBRATED))
    columns = flatten(columns)
    return {"episode_seed": columns.pop("seed"), **columns, "longest_calibration": longest}


def longest_runs(marked: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The longest run of marks in each row, shape ``(n,)``."""
    longest = running = np.zeros(len(marked), np.int64)
    for column in marked.T:
        running = (running + 1) * column
        longest = np.maximum(longest, running)
    return longest


RECORDS: dict[str, Callable[[Agent, LabParams, Sequence[int]], Columns]] = {
    "episodes": _episodes,
    "claims": claim_records,
    "careers": careers,
}
"""Kinds of table: a row an episode; a row a claim; a row an episode of labs that go on from one to the next."""


class PlayFolder:
    """Where the tables of a study's plays lie: ``<play>.parquet``, and ``<play>.yaml`` with what was played."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def table(self, play: Play) -> Path:
        """The table of a play."""
        return self.root / f"{play.name}.parquet"

    def finished(self, play: Play, episodes: int, arm: RunFolder | None) -> bool:
        """Whether its table is there, and of this very play."""
        about = self.table(play).with_suffix(".yaml")
        if not (self.table(play).exists() and about.exists()):
            return False
        return dict(read_document(about).data) == _about(play, episodes, arm)

    def keep(self, play: Play, episodes: int, arm: RunFolder | None, columns: Columns) -> None:
        """Write a table, and what it is of."""
        self.table(play).with_suffix(".yaml").unlink(missing_ok=True)
        write_parquet(self.table(play), columns)
        write_atomically(self.table(play).with_suffix(".yaml"), dump_yaml(_about(play, episodes, arm)))

    def read(self, play: Play) -> Columns:
        """A table that was kept."""
        return read_parquet(self.table(play))


def _about(play: Play, episodes: int, arm: RunFolder | None) -> dict[str, Any]:
    return {
        "env": play.env,
        "params": play.lab.to_mapping(),
        "script": play.script,
        "settings": dict(play.settings),
        "policies": [] if arm is None else [_identity(unit) for unit, _ in _policies(arm)],
        "record": play.record,
        "episodes": episodes,
        "first_seed": FIRST_SEED,
    }


def _identity(unit: Unit) -> str:
    """Seed and weights: a policy that was trained again is another one."""
    return f"seed {unit.seed}, {sha256(unit.model)}"


def make(play: Play, episodes: int, arm: RunFolder | None) -> Columns:
    """Play it. ``arm``: the run whose policies play, for a play of an arm."""
    seeds = range(FIRST_SEED, FIRST_SEED + episodes)
    parts = []
    for name, seed, agent in _agents(play, arm):
        columns = RECORDS[play.record](agent, play.lab, seeds)
        rows = len(next(iter(columns.values())))
        owner: Columns = {
            "agent": np.full(rows, name, object),
            "training_seed": np.full(rows, seed, np.int64),
        }
        parts.append(owner | columns)
    return joined(parts)


def _agents(play: Play, arm: RunFolder | None) -> Iterator[tuple[str, int, Agent]]:
    params = play.lab
    if arm is None:
        yield play.script, NO_SEED, _script(play, params)
        return
    for unit, learner in _policies(arm):
        assert unit.seed is not None
        yield learner, unit.seed, LearnedAgent.load(unit.model, params)


def _script(play: Play, params: LabParams) -> Agent:
    if play.settings:  # of the honest one: the only script that has any
        return Honest(params, 0, dataclasses.replace(Manner(), **play.settings))
    if play.script == Exact.name:
        return Exact(params)
    return AGENTS[play.script](params, 0)


def _policies(arm: RunFolder) -> list[tuple[Any, str]]:
    config = read_document(arm.config).data
    return [(arm.unit(learner, seed), learner) for learner in config["train"] for seed in config["seeds"]]
