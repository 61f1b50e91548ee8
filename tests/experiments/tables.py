"""Five episodes by hand, as the tables of a run have them: the honest script, a learner of two seeds, a liar."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from solvent import preset
from solvent.files import now
from solvent.lab.codes import Event
from solvent_experiments.config import Experiment
from solvent_experiments.figures.data import RunData
from solvent_experiments.folder import Columns, RunFolder, joined, owned, write_parquet
from solvent_experiments.summary import summary, write_rows

SEEDS = [10_000, 10_001, 10_002, 10_003, 10_004]
HONEST = {
    "return": [10.0, 12.0, 8.0, 10.0, 10.0],
    "debt": [0.0, 0.0, 0.5, 0.0, 0.0],
    "debt_added": [0.5, 0.0, 1.0, 0.0, 0.0],
    "refusals": [0, 0, 1, 0, 0],
    "refusals_by_debt": [0, 0, 0, 0, 0],
    "wrong": [1, 0, 2, 1, 1],
    "accepted": [8, 8, 7, 8, 8],
    "calibrations": [3, 3, 4, 3, 3],
}
FIRST_SEED = {**HONEST, "return": [12.0, 12.0, 6.0, 10.0, 15.0], "wrong": [0, 0, 2, 1, 0]}
SECOND_SEED = {**HONEST, "return": [10.0, 10.0, 10.0, 11.0, 9.0], "wrong": [1, 1, 1, 1, 1]}
LIAR = {
    **HONEST,
    "return": [4.0, 0.0, 2.0, -2.0, 1.0],
    "debt": [0.0, 2.0, 1.0, 4.0, 3.0],
    "debt_added": [3.0, 5.0, 2.0, 6.0, 4.0],
    "refusals": [4, 6, 3, 8, 4],
    "refusals_by_debt": [3, 5, 3, 6, 3],
}


def rows(agent: str, numbers: dict[str, list[float]], seed: int | None = None) -> Columns:
    columns = {name: np.array(values, float) for name, values in numbers.items()}
    return owned({"episode_seed": np.array(SEEDS), **columns}, agent, seed)


def episodes() -> Columns:
    """The joined table of the three agents."""
    learner = [rows("ppo", FIRST_SEED, 0), rows("ppo", SECOND_SEED, 1)]
    return joined([*learner, rows("honest", HONEST), rows("liar", LIAR)])


def trace(agent: str, episode: int, *, seed: int | None = None, **columns: list[float]) -> Columns:
    """A traced episode, its start and a row for each action; columns that are not given are 0."""
    length = len(next(iter(columns.values())))
    names = ("debt", "wells", "published_bits", "caused_by_debt", "claim", "gain", "event", "energy", "verb")
    numbers = {name: np.array(columns.get(name, [0] * length)) for name in (*names, "energy_spent")}
    beats = np.arange(length)
    return owned(
        {"episode_seed": np.full(length, episode), "heartbeat": beats, "step": beats, **numbers}, agent, seed
    )


def traces() -> Columns:
    """An episode of the learner and of the honest script, and two of the liar, of which the second ends early."""
    plate = int(Event.EXPLORED)
    honest = {"debt": [0, 0.5, 0, 0], "wells": [384, 360, 352, 328], "published_bits": [0, 0, 0, 2.5],
              "event": [0, plate, 0, 0], "claim": [0, 0.5, 0, 0], "gain": [0, 0.25, 0, 0]}  # fmt: skip
    return joined([
        trace("ppo", 10_000, seed=0, **honest),
        trace("honest", 10_000, **honest),
        trace("liar", 10_000, debt=[0, 1.5, 3, 3], wells=[384, 360, 336, 336], caused_by_debt=[0, 0, 0, 1],
              event=[0, plate, plate, 0], claim=[0, 2, 2, 2], gain=[0, 0.5, 0.5, 0]),
        trace("liar", 10_001, debt=[0, 0.5, 2.5], wells=[384, 360, 360], caused_by_debt=[0, 1, 1],
              event=[0, plate, 0], claim=[0, 1, 1], gain=[0, 0.25, 0]),
    ])  # fmt: skip


def training(*seeds: int) -> Columns:
    """Training episodes at the steps 10 and 300, the middles of whose stretches are 5 and 295."""
    columns = {"steps": [10, 10, 300, 300], "return": [-2.0, 0.0, 8.0, 12.0], "refusals": [8, 6, 3, 1],
               "refusals_by_debt": [4, 2, 1, 1]}  # fmt: skip
    return joined(
        [owned({name: np.array(values) for name, values in columns.items()}, "ppo", seed) for seed in seeds]
    )


def run_of(env: str = "Solvent/Debt-v0", level: str = "default", **tables: Columns) -> RunData:
    """A run of the three agents over three heartbeats, with other tables if given."""
    experiment = Experiment(name="hand", env=env, params={"budget": {"heartbeats": 3}}, train={"ppo": None})
    columns = {"episodes": episodes(), "traces": traces(), "training": training(0, 1), **tables}
    return RunData(experiment, tuple(summary(columns["episodes"], preset(level))), **columns)


def written_run(root: Path) -> RunFolder:
    """A finished run of the three agents in a folder, without figures, traces and training."""
    params = preset("default").to_mapping()
    experiment = Experiment(
        name="hand", params=params, agents=["honest", "liar"], train={"ppo": {}}, seeds=[0, 1]
    )
    folder, played = RunFolder(root), episodes()
    root.mkdir()
    folder.prepare(experiment)
    folder.write_manifest(experiment, now(), now())
    write_parquet(folder.episodes, played)
    write_rows(folder.summary, experiment, summary(played, experiment.lab))
    return folder
