"""Five episodes by hand, as the tables of a run have them: the honest script, a learner of two seeds, a liar."""

from __future__ import annotations

import numpy as np

from solvent_experiments.folder import Columns, joined, owned

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
