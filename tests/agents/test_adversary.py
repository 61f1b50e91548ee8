"""The adversary: the base policy with a ploy's changes. Records are set by hand, so its actions are known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from solvent import LabParams, LabVectorEnv, preset
from solvent.lab.actions import action_table
from solvent.lab.verbs import Verb
from solvent_agents.agent import show_labs
from solvent_agents.planning.adversary import Adversary, Ploy
from solvent_agents.planning.planner import Effort, Planner
from tests.labs import LEFT_OUT

DEBT, ENERGY = preset("default"), preset("energy")
LABS = 4


def labs_with(params: LabParams = DEBT, **fields: Any) -> Any:
    """Return the records of new labs with these fields."""
    envs = LabVectorEnv(LABS, params)
    envs.reset(seed=list(range(LABS)))
    labs = envs.get_state()
    for name, value in fields.items():
        labs[name] = value
    return labs


def taken(labs: Any, params: LabParams = DEBT, **ploy: float) -> Any:
    """Return the rows of the action table that an adversary with this ploy takes."""
    agent = Adversary(params, 0, Ploy(**ploy))
    show_labs(agent, labs, params)
    nothing = np.zeros((LABS, 1), np.float32)
    return action_table(params)[agent.act(nothing, nothing)]


def known(params: LabParams = DEBT, **fields: Any) -> Any:
    """Return labs that know their first compound well and have the licence to say so."""
    labs = labs_with(params, **fields)
    labs["experiments"][:, 0] = 4
    labs["licence"][:, 0] = 3.0
    labs["marginal"][:, 0] = 0.01 / 7
    labs["marginal"][:, 0, 2] = 0.99
    return labs


@pytest.mark.parametrize("level", ["default", "lab"])
def test_without_a_ploy_it_is_the_base_policy(level: str) -> None:
    params = preset(level)
    base, adversary = Planner(params, 0, Effort(worlds=0)), Adversary(params)
    envs = LabVectorEnv(LABS, params)
    observations, infos = envs.reset(seed=list(range(LABS)))
    running = np.ones(LABS, np.bool_)
    while running.any():
        for agent in (base, adversary):
            show_labs(agent, envs.batch.labs, params)
        actions = base.act(observations, infos["action_mask"])
        other = adversary.act(observations, infos["action_mask"])
        np.testing.assert_array_equal(other[running], actions[running])
        observations, _, terminated, truncated, infos = envs.step(actions)
        running &= ~(terminated | truncated)


@pytest.mark.parametrize(
    ("ploy", "debt", "steps"),
    [
        ({"claim": 2.0}, 0.0, 2),
        ({"claim": -9.0}, 0.0, -9),
        ({"claim_by_debt": 12.0}, 0.25, 3),
        ({"claim_by_time": -4.0}, 0.0, 2),  # at the start, half an episode before its middle
    ],
    ids=["more", "nothing", "with debt", "with time"],
)
def test_claims_are_shifted_by_steps_of_the_vocabulary(
    ploy: dict[str, float], debt: float, steps: int
) -> None:
    labs, claims = labs_with(debt=debt, lot_calibrated=True), np.array(DEBT.vocabulary.claims)
    honest, shifted = taken(labs), taken(labs, **ploy)
    place = np.searchsorted(claims, honest["claim"]) + steps
    np.testing.assert_array_equal(shifted["claim"], claims[np.clip(place, 0, len(claims) - 1)])
    np.testing.assert_array_equal(shifted["compound"], honest["compound"])


@pytest.mark.parametrize(
    ("heartbeat", "ploy", "verb"),
    [
        (5, {}, Verb.DMSO),
        (5, {"recovers": 0.0}, Verb.REST),
        (5, {"wait_beats": 7.0}, Verb.REST),
        (5, {"wait_beats": 6.0}, Verb.DMSO),
        (37, {"wait_beats": 12.0}, Verb.DMSO),
    ],
    ids=["calibrates", "gives up", "7 left, waits for 7", "7 left, waits for 6", "no lot to wait for"],
)
def test_blocked_it_calibrates_waits_or_gives_up(heartbeat: int, ploy: dict[str, float], verb: Verb) -> None:
    blocked = labs_with(debt=2.5, heartbeat=heartbeat)
    assert set(taken(blocked, **ploy)["verb"]) == {int(verb)}


def test_in_its_last_heartbeats_it_publishes_what_is_worth_nothing() -> None:
    labs = labs_with(heartbeat=38)
    labs["experiments"][:, 0] = 1
    assert not np.isin(taken(labs, last_beats=1.0)["verb"], int(Verb.PUBLISH_PUBLIC)).any()
    hedged, certain = taken(labs, last_beats=2.0), taken(labs, last_beats=2.0, confidence=2.0)
    for rows, confidence in ((hedged, 0.5), (certain, 0.95)):
        assert set(rows["verb"]) == {int(Verb.PUBLISH_PUBLIC)}
        assert set(rows["compound"]) == {0}
        assert rows["confidence"] == pytest.approx(confidence)


def test_a_good_finding_goes_out_early_where_the_ploy_says_so() -> None:
    """It is worth 0.99 * 2.93 - 0.01 * 4.13 = 2.86 bits."""
    labs = known(heartbeat=5)
    assert set(taken(labs, early=2.8)["verb"]) == {int(Verb.PUBLISH_PUBLIC)}
    assert int(Verb.PUBLISH_PUBLIC) not in taken(labs, early=2.9)["verb"]


@pytest.mark.parametrize(("private", "verb"), [(2.8, Verb.PUBLISH_PUBLIC), (2.9, Verb.PUBLISH_PRIVATE)])
def test_a_finding_worth_little_goes_to_one_reader(private: float, verb: Verb) -> None:
    params = LabParams.from_mapping({"vocabulary": LEFT_OUT["vocabulary"]}, base=ENERGY)
    labs = known(params, heartbeat=5, energy=20_000)
    assert set(taken(labs, params, early=0.0, private=private)["verb"]) == {int(verb)}


def test_a_finding_that_would_block_is_as_public_as_another() -> None:
    """It leaves more debt than the threshold and is kept for last, but is worth 2 bits all the same."""
    labs = known(ENERGY, heartbeat=38, energy=20_000, debt=1.9)
    labs["licence"][:, 0] = 1.0
    labs["published"][:, 1:] = 1
    assert set(taken(labs, ENERGY, last_beats=4.0)["verb"]) == {int(Verb.PUBLISH_PUBLIC)}
