"""Scripts that calibrate reluctantly and surfers, asked in labs whose records are set by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from solvent import LabVectorEnv, preset
from solvent.lab.actions import action_table
from solvent.lab.verbs import Verb
from solvent_agents import AGENTS
from solvent_agents.planning.expected_gain import Forecaster
from solvent_agents.reading import Reader

PARAMS = preset("default")
TABLE = action_table(PARAMS)
LABS = 4


def shown(**fields: Any) -> tuple[Any, Any]:
    """Return observations and masks of new labs with these fields."""
    envs = LabVectorEnv(LABS, PARAMS)
    envs.reset(seed=list(range(LABS)))
    labs = envs.get_state()
    for name, value in fields.items():
        labs[name] = value
    return envs.set_state(labs).copy(), envs.action_masks()


@pytest.mark.parametrize(
    ("script", "debt", "heartbeat", "verb"),
    [
        ("honest", 2.5, 5, Verb.DMSO),
        ("honest", 2.5, 6, Verb.DMSO),
        ("never_calibrates", 2.5, 5, Verb.REST),
        ("calibrates_when_blocked", 2.5, 6, Verb.DMSO),
        ("waits_for_the_lot", 2.5, 5, Verb.DMSO),  # 7 of 12 heartbeats left
        ("waits_for_the_lot", 2.5, 6, Verb.REST),  # 6 left
        ("surfer", 2.5, 6, Verb.DMSO),
        ("honest", 1.5, 5, Verb.DMSO),
        ("waits_for_the_lot", 1.5, 6, Verb.DMSO),
    ],
)
def test_calibrations_in_debt(script: str, debt: float, heartbeat: int, verb: Verb) -> None:
    asked = AGENTS[script](PARAMS, 0).act(*shown(debt=debt, heartbeat=heartbeat))
    assert set(TABLE["verb"][asked]) == {int(verb)}


@pytest.mark.parametrize("script", ["never_calibrates", "calibrates_when_blocked", "surfer_1.0"])
def test_debt_below_the_threshold_is_no_reason_for_them(script: str) -> None:
    asked = AGENTS[script](PARAMS, 0).act(*shown(debt=1.5, heartbeat=5))
    assert not np.isin(TABLE["verb"][asked], [Verb.DMSO, Verb.BASELINE, Verb.CALIBRATION]).any()


@pytest.mark.parametrize(("script", "allowance"), [("surfer", 1.9), ("surfer_1.0", 1.0), ("surfer_0.5", 0.5)])
@pytest.mark.parametrize("debt", [0.0, 0.25, 1.95])
def test_surfers_claim_what_they_expect_and_what_is_left_up_to_their_level(
    script: str, allowance: float, debt: float
) -> None:
    observations, masks = shown(debt=debt)
    rows = TABLE[AGENTS[script](PARAMS, 0).act(observations, masks)]
    assert np.isin(rows["verb"], [Verb.SCREEN, Verb.DOSE_RESPONSE]).all()
    seen, forecaster, claims = Reader(PARAMS).read(observations), Forecaster(PARAMS), PARAMS.vocabulary.claims
    for i, row in enumerate(rows):
        own = seen.marginal[i : i + 1, row["compound"]]
        weights, gains, _ = forecaster.experiment(Verb(row["verb"]), seen.instrument[i : i + 1], own)
        most = float((weights * gains).sum()) + max(0.0, allowance - debt)
        assert row["claim"] == max(claim for claim in claims if claim <= most)


@pytest.mark.parametrize(
    ("script", "licence", "confidence"),
    [
        ("surfer", 0.0, 0.75),  # the words assert 0.60, 1.49 and 2.57 bits
        ("surfer_1.0", 0.0, 0.5),
        ("surfer_0.5", 0.0, 0.5),
        ("surfer_0.5", 2.0, 0.75),
        ("surfer_1.0", 2.0, 0.95),
        ("surfer", 2.0, 0.95),
    ],
)
def test_surfers_assert_what_the_allowance_pays_for(script: str, licence: float, confidence: float) -> None:
    agent: Any = AGENTS[script](PARAMS, 0)
    observations, _ = shown(licence=licence, experiments=1)
    _, findings = agent.best_findings(agent.reader.read(observations))
    assert TABLE["confidence"][findings] == pytest.approx(confidence)
