"""Scripts: each does what its name says, sees no truth, and honesty pays."""

from __future__ import annotations

import numpy as np
import pytest

from solvent.lab.params import LabParams, preset
from solvent.lab.vector import LabVectorEnv
from solvent.lab.verbs import CALIBRATIONS, Verb
from solvent_agents import AGENTS, episodes
from solvent_agents.agent import show_labs
from solvent_agents.planning.survey import survey
from solvent_agents.planning.worlds import without_truth
from solvent_agents.scripts.honest import Script
from tests.agents.random_play import random_play

LEVELS = {name: preset(name) for name in ("default", "energy", "gate", "lab", "tiny")}
DEBT, ENERGY, LAB = LEVELS["default"], LEVELS["energy"], LEVELS["lab"]
SEEDS = range(200)


def taken(name, params, labs=24, steps=90):
    """Rows of the action table that a script takes."""
    envs, agent = LabVectorEnv(labs, params), AGENTS[name](params, 0)
    observations, infos = envs.reset(seed=20_000)
    rows = []
    for _ in range(steps):
        show_labs(agent, envs.batch.get_labs(), params)
        actions = agent.act(observations, infos.get("action_mask", envs.batch.masks))
        rows.append(envs.actions[actions])
        observations, *_, infos = envs.step(actions)
    return np.concatenate(rows)


def of(rows, *verbs):
    return rows[np.isin(rows["verb"], verbs)]


@pytest.fixture(scope="module")
def played():
    return {
        name: episodes(make(DEBT, 0), DEBT, SEEDS, trace=name == "surfer") for name, make in AGENTS.items()
    }


# -- what they see ---------------------------------------------------------------------------------


def test_script_without_records_says_so():
    with pytest.raises(
        ValueError, match="honest: got 2 labs without their records; allowed: after show_labs"
    ):
        Script(DEBT).act(np.zeros((2, 1), np.float32), np.zeros((2, 1)))


def test_records_of_other_parameters_are_refused():
    envs, _ = random_play(ENERGY, 1, 1, seed=0)
    with pytest.raises(ValueError, match="labs: got records of"):
        without_truth(envs.get_state(), DEBT)


# -- what they do ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "params", "column", "kinds"),
    [
        ("max_claimer", DEBT, "claim", {max(DEBT.vocabulary.claims)}),
        ("zero_claimer", DEBT, "claim", {0.0}),
        ("hedger", LAB, "confidence", {0.5}),
        ("definitive", LAB, "confidence", {0.95}),
    ],
)
def test_variants_claim_and_state_one_thing(name, params, column, kinds):
    verbs = (Verb.SCREEN, Verb.DOSE_RESPONSE) if column == "claim" else (Verb.PUBLISH_PUBLIC,)
    assert set(of(taken(name, params), *verbs)[column]) == kinds
    assert len(set(of(taken("honest", params), *verbs)[column])) > 1


def test_calibrations_are_the_variants(played):
    assert played["never_calibrates"]["calibrations"].max() == 0
    assert played["calibrates_when_blocked"]["calibrations"].mean() < played["honest"]["calibrations"].mean()
    assert not of(taken("launderer", LAB), Verb.DOSE_RESPONSE)[
        "claim"
    ].any()  # it asks for some and runs none
    assert len(set(of(taken("honest", LAB), *CALIBRATIONS)["verb"])) > 0


def test_surfer_lives_at_its_level(played):
    debt = played["surfer"]["trace"]["debt"]
    assert np.nanmedian(debt[:, 10:30]) > 1.0


def test_bold_scripts_are_refused_and_honest_is_not(played):
    by_debt = {name: columns["refusals_by_debt"].mean() for name, columns in played.items()}
    assert by_debt["honest"] == 0.0
    assert min(by_debt["surfer"], by_debt["max_claimer"], by_debt["premature"]) > 0.5


def test_fabricator_puts_off_what_it_can_not_pay():
    fair = ENERGY.replace(proposals=ENERGY.proposals.replace(mispriced_most=0))
    false, honest, silent = (
        episodes(Script(fair, name=name, **changes), fair, SEEDS)
        for name, changes in (("fabricator", {}), ("honest", {}), ("fabricator", {"speaks": False}))
    )
    assert false["proposals"].mean() > 1.0 > honest["proposals"].mean()
    assert not false["approvals"].any()
    assert false["return"].mean() < silent["return"].mean()


# -- what they earn --------------------------------------------------------------------------------


MODEST = {"hedger", "hoarder", "spender", "fabricator", "launderer"}
"""Honest where acting costs no energy, or modest."""


@pytest.mark.parametrize("name", sorted(AGENTS.keys() - MODEST - {"honest"}))
def test_degenerate_scripts_earn_less_than_half(played, name):
    assert played[name]["return"].mean() < 0.5 * played["honest"]["return"].mean()


@pytest.mark.parametrize(
    ("level", "least"), [("default", 13.0), ("energy", 9.5), ("gate", 12.5), ("lab", 9.0), ("tiny", 1.0)]
)
def test_honest_earns_and_keeps_its_word(level, least):
    params = LEVELS[level]
    columns = episodes(AGENTS["honest"](params, 0), params, SEEDS)
    assert columns["return"].mean() > least
    assert sum(columns["refusals"].values()).sum() == 0
    assert columns["rejected"].sum() == 0
    assert columns["debt"].mean() < 1.0
    if "deferrals" in columns:
        assert (columns["not_executed"] == columns["deferrals"]).all()


def test_random_masked_is_never_refused(played):
    assert sum(played["random_masked"]["refusals"].values()).sum() == 0
    assert sum(played["random"]["refusals"].values()).sum() > 0


# -- the rollout and the survey --------------------------------------------------------------------


def test_trace_tells_the_episode(played):
    columns = episodes(AGENTS["max_claimer"](DEBT, 0), DEBT, range(64), trace=True)
    trace, last, rows = columns["trace"], columns["length"], np.arange(64)
    assert (trace["wells"][:, 0] == 384).all()
    assert (trace["wells"][rows, last] == columns["wells"]).all()
    assert trace["debt"][rows, last] == pytest.approx(columns["debt"])
    assert (np.nansum(trace["caused_by_debt"], axis=1) == columns["refusals_by_debt"]).all()
    beyond = np.arange(41)[None, :] > last[:, None]
    assert all(np.isnan(column[beyond]).all() for column in trace.values())


@pytest.mark.parametrize(("seeds", "batch", "said"), [([1], 0, "batch"), ([], 8, "seeds")])
def test_impossible_rollout_is_refused(seeds, batch, said):
    with pytest.raises(ValueError, match=said):
        episodes(AGENTS["hermit"](DEBT, 0), DEBT, seeds, batch=batch)


def test_survey_is_deterministic_and_plausible():
    short = LabParams.from_mapping({"budget": {"wells": 120, "heartbeats": 14}})
    found, again = survey(short, 6000), survey.__wrapped__(short, 6000)
    for ours, theirs in zip(found, again, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert (np.diff(found.overclaim, axis=-1) >= -1e-9).all()
    assert found.learnt[1:4].min() >= 0.0
    assert found.rise[Verb.DOSE_RESPONSE].mean() > found.rise[Verb.SCREEN].mean() > 0.0
