"""What a learner chooses above the threshold is counted right, also across a stop."""

from __future__ import annotations

import numpy as np

from solvent import LabParams
from solvent.lab.actions import action_table
from solvent.lab.verbs import Verb
from solvent_agents.learning.sb3 import LabVecEnv
from solvent_agents.learning.while_blocked import WHILE_BLOCKED, WhileBlocked
from tests.labs import LEFT_OUT

PARAMS = LabParams.from_mapping(LEFT_OUT)


def index(verb):
    return int(np.flatnonzero(action_table(PARAMS)["verb"] == int(verb))[0])


def test_counts_by_hand():
    counts = WhileBlocked(PARAMS, 3)
    dmso, rest, screen = (index(verb) for verb in (Verb.DMSO, Verb.REST, Verb.SCREEN))
    counts.choose(np.array([2.0, 2.1, 5.0]), np.array([dmso, dmso, rest]))
    counts.choose(np.array([2.5, 2.1, 5.0]), np.array([screen, screen, index(Verb.BASELINE)]))
    assert counts.counts.tolist() == [[1, 0, 0], [2, 1, 0], [2, 1, 1]]
    ended = counts.end(np.array([2, 0]))
    assert [ended[name].tolist() for name in WHILE_BLOCKED] == [[2, 1], [1, 0], [1, 0]]
    assert counts.counts.tolist() == [[0, 0, 0], [2, 1, 0], [0, 0, 0]]


def test_what_is_neither_calibration_nor_rest_is_refused():
    """In whole episodes of labs in which everything is claimed, so that debt soon blocks."""
    params = LabParams()
    envs = LabVecEnv(params, 64)
    envs.seed(3)
    envs.reset()
    rng = np.random.default_rng(0)
    table = action_table(params)
    bold = np.flatnonzero(
        (table["claim"] == max(params.vocabulary.claims)) | (table["verb"] <= int(Verb.BASELINE))
    )
    episodes: dict[str, int] = dict.fromkeys((*WHILE_BLOCKED, "refused", "ended"), 0)
    for _ in range(2 * params.budget.heartbeats):
        envs.step_async(rng.choice(bold, 64))
        envs.step_wait()
        finished = envs.take_finished()
        if finished is None:
            continue
        for name in WHILE_BLOCKED:
            episodes[name] += int(finished[name].sum())
        episodes["refused"] += int(finished["refusals"]["epistemic_debt_action_blocked"].sum())
        episodes["ended"] += len(finished["return"])
    chosen, calibrated, rested = (episodes[name] for name in WHILE_BLOCKED)
    assert episodes["ended"] >= 64
    assert min(calibrated, rested) > 0
    assert chosen - calibrated - rested == episodes["refused"] > 100
