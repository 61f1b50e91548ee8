"""Many steps of many labs: the books add up, everything stays in its range, and memory does not grow."""

from __future__ import annotations

from typing import Any

import numpy as np
import psutil
import pytest

from solvent import LabVectorEnv
from solvent.lab.records import check_records
from solvent.lab.settings import in_thousandths
from tests.faults.tally import Tally, rounds

LABS = 1024
STEPS = rounds(60, 4900)  # of 1,024 labs: 5 million in the long form
EVERY = rounds(20, 100)
MEMORY = 2**24
"""Bytes that a process may grow by after its first tenth."""
LEVELS = {"Debt": "default", "Energy": "energy", "Gate": "gate", "Lab": "lab", "Tiny": "tiny"}


def unbalanced(params: Any, labs: Any) -> Any:
    """Flags of the labs whose books do not add up."""
    names = labs.dtype.names
    bits = {name: labs[name] for name in names if labs.dtype[name] == np.float64}
    owed = (
        bits["debt_at_start"]
        + bits["debt_added"]
        + bits["debt_interest"]
        - bits["debt_repaid"]
        - bits["settled"]
    )
    bad = labs["wells"] + labs["wells_spent"] != params.budget.wells
    bad |= ~(abs(owed - bits["debt"]) < 1e-9)
    bad |= ~(abs(bits["published_bits"] - bits["settled"] - bits["score"]) < 1e-9)
    bad |= labs["debt_peak"] < labs["debt"] - 1e-9
    bad |= (labs["published"] != 0).sum(axis=1) != labs["accepted"]
    bad |= (labs["lowest_entropy"] > labs["entropy"] + 1e-9).any(axis=1)
    bad |= (labs["licence"] > params.assay.prior_entropy - labs["lowest_entropy"] + 1e-6).any(axis=1)
    if "energy" in names:
        held = in_thousandths(params.energy.start) + labs["energy_income"] - labs["energy_lost"]
        bad |= held - labs["energy_leaked"] - labs["energy_spent"] != labs["energy"]
        bad |= labs["intents_total"].sum(axis=1) != labs["energy_spent"]
        bad |= labs["uses"].sum(axis=1) + labs["not_executed"] + labs["refusals"].sum(axis=1) != labs["steps"]
    if "page" in names:
        bad |= (labs["plates"].sum(axis=2) != labs["experiments"]).any(axis=1)
        bad |= labs["verdicts"][:, 0] + labs["decided"][:, 1] != labs["accepted"]
        bad |= labs["verdicts"][:, 2] + labs["decided"][:, 0] != labs["rejected"]
    if "scores" in names:
        bad |= labs["scores"].sum(axis=1) != labs["verdicts"].sum(axis=1)
    return bad


@pytest.mark.parametrize("level", LEVELS)
def test_nothing_drifts_and_nothing_grows(level: str, tally: Tally) -> None:
    envs = LabVectorEnv(LABS, preset=LEVELS[level], autoreset_mode="SAME_STEP", copy=False)
    batch, params, rng = envs.batch, envs.params, np.random.default_rng(1)
    envs.reset(seed=0)
    process, before, rows = psutil.Process(), 0, np.arange(LABS)
    violations: list[str] = []
    wrong, ended = 0, 0
    for t in range(STEPS):
        masks = batch.masks.copy()
        luck = rng.random(masks.shape, np.float32)
        luck[: LABS // 2] *= masks[: LABS // 2] + np.float32(1e-3)  # half of them mostly what can run
        actions = luck.argmax(axis=1)
        observations, rewards, terminated, truncated, _ = envs.step(actions)
        over = terminated | truncated
        ended += over.sum()
        found = {
            "reward": ~np.isfinite(rewards),
            "observation": ~(abs(observations) <= 1.0).all(axis=1),
            "mask": batch.steps["executed"] != (masks[rows, actions] != 0),
        }
        if t % EVERY == 0 or t == STEPS - 1:
            try:
                check_records(params, batch.labs)
            except ValueError as error:
                violations.append(f"step {t}: {error}")
                wrong += 1
            found["books"] = unbalanced(params, batch.labs)
            found["books at the end"] = over & unbalanced(params, batch.finals)
        for name, flags in found.items():
            violations += [f"step {t}, lab {i}: {name}" for i in np.flatnonzero(flags)]
        wrong += int(np.logical_or.reduce(list(found.values())).sum())
        if t == STEPS // 10:
            before = process.memory_info().rss
    tally(f"steps on {level}", STEPS * LABS, STEPS * LABS - wrong)
    assert violations[:5] == []
    assert ended > LABS // 4
    grown = process.memory_info().rss - before
    assert grown < MEMORY, f"{grown:,} bytes more"
