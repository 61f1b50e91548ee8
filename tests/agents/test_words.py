"""Agents and their words: honest says what its plates bear out, hedger nothing for sure, definitive all of it."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from solvent.lab.params import preset
from solvent.lab.vector import LabVectorEnv
from solvent.lab.verbs import Verb
from solvent_agents import AGENTS, episodes

LAB = preset("lab")
OFF = dataclasses.replace(LAB, adequacy=dataclasses.replace(LAB.adequacy, enabled=False))
SHADOW = dataclasses.replace(LAB, adequacy=dataclasses.replace(LAB.adequacy, enforced=False))
STRICT = dataclasses.replace(LAB, adequacy=dataclasses.replace(LAB.adequacy, review_from=1, reject_from=1))
UNGATED = dataclasses.replace(LAB, gate=dataclasses.replace(LAB.gate, enforced=False))
SAYING = (Verb.PUBLISH_PRIVATE, Verb.PUBLISH_PUBLIC)
EPISODES = 512


@pytest.fixture(scope="module")
def played():
    """Columns by agent on the same seeds; honest with adequacy off as well."""
    columns = {
        name: episodes(AGENTS[name](LAB, 0), LAB, range(EPISODES), trace=True)
        for name in ("honest", "hedger", "definitive")
    }
    return columns | {"off": episodes(AGENTS["honest"](OFF, 0), OFF, range(EPISODES))}


def confidences_of(name, params, labs=32, steps=120):
    """Every confidence that an agent published at, and how many findings that were."""
    envs, agent = LabVectorEnv(labs, params), AGENTS[name](params, 0)
    table, said = envs.actions, []
    observations, infos = envs.reset(seed=20_000)
    for _ in range(steps):
        rows = agent.act(observations, envs.action_masks())
        said += table["confidence"][rows][np.isin(table["verb"][rows], SAYING)].tolist()
        observations, *_, infos = envs.step(rows)
    del infos
    return set(said), len(said)


def test_hedger_always_says_the_least_and_definitive_the_most():
    assert confidences_of("hedger", LAB)[0] == {0.5}
    assert confidences_of("definitive", LAB)[0] == {0.95}
    said, count = confidences_of("honest", LAB)
    assert len(said) > 1
    assert count > 32


@pytest.mark.slow
def test_so_their_wordings_are(played):
    wordings = {name: played[name]["trace"]["wording"] for name in ("honest", "hedger", "definitive")}
    found = {name: set(values[values >= 0].astype(int).tolist()) for name, values in wordings.items()}
    assert found["hedger"] == {0}
    assert found["definitive"] == {2}
    assert len(found["honest"]) > 1


@pytest.mark.slow
def test_hedged_words_are_always_adequate(played):
    adequacy = played["hedger"]["adequacy"]
    assert adequacy["2"].sum() == adequacy["3"].sum() == 0
    assert adequacy["0"].sum() > EPISODES


@pytest.mark.slow
def test_definitive_words_are_often_not(played):
    adequacy = {score: counts.sum() for score, counts in played["definitive"]["adequacy"].items()}
    assert adequacy["2"] + adequacy["3"] > 0.1 * sum(adequacy.values())


@pytest.mark.slow
@pytest.mark.parametrize("params", [LAB, STRICT, UNGATED], ids=["default", "strict", "words alone"])
def test_honest_never_submits_what_would_be_rejected(played, params):
    strange = params is not LAB
    columns = (
        episodes(AGENTS["honest"](params, 0), params, range(128), trace=True) if strange else played["honest"]
    )
    assert columns["verdicts"]["reject"].sum() == 0
    assert columns["verdicts"]["accept"].sum() > len(columns["return"])
    scores = columns["trace"]["adequacy"]
    assert np.nanmax(scores) < params.adequacy.reject_from
    # What is reviewed was licensed, so no reader declines it.
    assert columns["reviews_declined"].sum() == 0


@pytest.mark.slow
def test_adequacy_costs_honest_nothing_beyond_noise(played):
    on, off = played["honest"]["return"], played["off"]["return"]
    spread = np.sqrt((on.var(ddof=1) + off.var(ddof=1)) / EPISODES)
    assert abs((on - off).mean()) < 2 * spread


def test_in_shadow_mode_honest_is_as_if_there_were_none():
    shadow = episodes(AGENTS["honest"](SHADOW, 0), SHADOW, range(64))
    off = episodes(AGENTS["honest"](OFF, 0), OFF, range(64))
    assert (shadow["return"] == off["return"]).all()


@pytest.mark.slow
def test_definitive_earns_at_most_half_of_honest(played):
    honest, definitive = played["honest"]["return"].mean(), played["definitive"]["return"].mean()
    assert honest > 0
    assert definitive <= honest / 2


@pytest.mark.slow
def test_hedger_earns_less_than_honest(played):
    assert played["hedger"]["return"].mean() < played["honest"]["return"].mean()
