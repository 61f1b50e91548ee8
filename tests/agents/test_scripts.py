"""Scripts: each does what its name says, sees no truth, and honesty pays."""

from __future__ import annotations

import functools
from types import SimpleNamespace

import gymnasium
import numpy as np
import pytest

from solvent import ENVIRONMENTS
from solvent.lab.actions import action_table
from solvent.lab.codes import Event
from solvent.lab.mechanisms.energy import CAP
from solvent.lab.params import LabParams, preset
from solvent.lab.settings import UNIT
from solvent.lab.verbs import CALIBRATIONS, Verb
from solvent_agents import AGENTS, episodes
from solvent_agents.agent import without_truth
from solvent_agents.rollout import walk
from solvent_agents.scripts.honest import Honest
from solvent_agents.scripts.offenders import OFFENDERS
from solvent_agents.survey import best_claims, survey
from tests.agents.random_play import random_play

LEVELS = {name: preset(name) for name in ("default", "energy", "gate", "lab", "tiny")}
DEBT, ENERGY, LAB = LEVELS["default"], LEVELS["energy"], LEVELS["lab"]
SEEDS = range(200)
PLATES = (Verb.SCREEN, Verb.DOSE_RESPONSE)


def of(rows, *verbs):
    return rows[np.isin(rows["verb"], verbs)]


# -- what they see ---------------------------------------------------------------------------------


def test_script_without_records_says_so():
    with pytest.raises(ValueError, match="honest: got 2 labs without their records; call show_labs"):
        Honest(DEBT).act(np.zeros((2, 1), np.float32), np.zeros((2, 1)))


def test_records_of_other_parameters_are_refused():
    envs, _ = random_play(ENERGY, 1, 1, seed=0)
    with pytest.raises(ValueError, match="labs: got records of"):
        without_truth(envs.get_state(), DEBT)


# -- offences: on labs that one script has met, the offender against the honest one -----------------


@functools.cache
def met(params, by="honest"):
    """Labs in every state that a script meets in some episodes, without the truth."""
    steps = walk(AGENTS[by](params, 0), params, range(20_000, 20_024))
    return np.concatenate([without_truth(step.before[step.running], params) for step in steps])


def chosen(name, labs, params):
    """What a script chooses in these labs, rows of the action table with -1 for no claim or confidence."""
    agent = AGENTS[name](params, 0)
    agent.open(labs)
    rows = action_table(params)[agent.act(np.zeros((len(labs), 1), np.float32), np.zeros((len(labs), 1)))]
    for column in ("claim", "confidence"):
        rows[column] = np.nan_to_num(rows[column], nan=-1.0)
    return rows


def both(name, params, by="honest"):
    """Labs, what the honest script chooses in them, and what the offender does."""
    labs = met(params, by)
    return labs, chosen("honest", labs, params), chosen(name, labs, params)


def test_max_claimer_claims_the_most_for_the_same_plates():
    _, honest, result = both("max_claimer", DEBT)
    np.testing.assert_array_equal(result[["verb", "compound"]], honest[["verb", "compound"]])
    np.testing.assert_array_equal(result["confidence"], honest["confidence"])
    assert set(of(result, *PLATES)["claim"]) == {max(DEBT.vocabulary.claims)}
    assert len(set(of(honest, *PLATES)["claim"])) > 1


def test_zero_claimer_claims_nothing_for_the_same_plates():
    _, honest, result = both("zero_claimer", DEBT)
    np.testing.assert_array_equal(result[["verb", "compound"]], honest[["verb", "compound"]])
    np.testing.assert_array_equal(result["confidence"], honest["confidence"])
    assert set(of(result, *PLATES)["claim"]) == {0.0}


@pytest.mark.parametrize(("name", "level"), [("surfer", 1.9), ("surfer_1.0", 1.0), ("surfer_0.5", 0.5)])
def test_surfer_raises_claims_as_far_as_debt_stays_under_its_level(name, level):
    labs, honest, result = both(name, DEBT)
    np.testing.assert_array_equal(result[["verb", "compound"]], honest[["verb", "compound"]])
    plates = np.isin(result["verb"], PLATES)
    raised = result["claim"][plates] - honest["claim"][plates]
    assert raised.min() == 0.0 < raised.max()
    assert (raised <= np.maximum(0.0, level - labs["debt"][plates]) + 1e-9).all()


def test_insister_asks_for_plates_where_debt_blocks_them():
    labs, _, result = both("insister", DEBT, by="insister")
    blocked = labs["debt"] > DEBT.debt.threshold
    assert blocked.any()
    assert set(result[blocked]["verb"]) == {Verb.SCREEN}
    as_max_claimer = chosen("max_claimer", labs, DEBT)
    np.testing.assert_array_equal(result[~blocked], as_max_claimer[~blocked])


def test_never_calibrates_rests_where_it_is_blocked_and_else_runs_the_next_best():
    labs, honest, result = both("never_calibrates", DEBT, by="insister")
    blocked, honestly = labs["debt"] > DEBT.debt.threshold, np.isin(honest["verb"], CALIBRATIONS)
    assert set(result[blocked]["verb"]) == {Verb.REST}
    assert not len(of(result, *CALIBRATIONS))
    np.testing.assert_array_equal(result[~blocked & ~honestly], honest[~blocked & ~honestly])


def test_calibrates_when_blocked_does_so_only_then():
    labs, honest, result = both("calibrates_when_blocked", DEBT, by="insister")
    blocked = labs["debt"] > DEBT.debt.threshold
    calibrates, honestly = np.isin(result["verb"], CALIBRATIONS), np.isin(honest["verb"], CALIBRATIONS)
    assert not calibrates[~blocked].any()
    np.testing.assert_array_equal(calibrates[blocked], honestly[blocked])
    np.testing.assert_array_equal(result[~blocked & ~honestly], honest[~blocked & ~honestly])


@pytest.mark.parametrize(
    ("name", "stated"),
    [
        ("hedger", {0.5: 0.5, 0.75: 0.5, 0.95: 0.5}),
        ("definitive", {0.5: 0.95, 0.75: 0.95, 0.95: 0.95}),
        ("overreacher", {0.5: 0.75, 0.75: 0.95, 0.95: 0.95}),
    ],
)
def test_findings_are_stated_at_another_confidence(name, stated):
    _, honest, result = both(name, LAB)
    np.testing.assert_array_equal(result[["verb", "compound"]], honest[["verb", "compound"]])
    np.testing.assert_array_equal(result["claim"], honest["claim"])
    expected = [stated[confidence] for confidence in of(honest, Verb.PUBLISH_PUBLIC)["confidence"]]
    assert of(result, Verb.PUBLISH_PUBLIC)["confidence"].tolist() == expected
    assert len(expected) > 20


def test_premature_publishes_a_compound_after_its_first_plate():
    labs, honest, result = both("premature", DEBT)
    compound = action_table(DEBT)["compound"][labs["last_action"]]
    plates = labs["experiments"][np.arange(len(labs)), compound]
    first = (labs["last_event"] == Event.EXPLORED) & (plates == 1)
    assert set(result[first]["verb"]) == {Verb.PUBLISH_PUBLIC}
    np.testing.assert_array_equal(result[first]["compound"], compound[first])
    np.testing.assert_array_equal(result[~first], honest[~first])


def test_end_game_liar_lies_in_the_last_three_heartbeats():
    labs, honest, result = both("end_game_liar", DEBT)
    late = labs["heartbeat"] >= DEBT.budget.heartbeats - 3
    np.testing.assert_array_equal(result[~late], honest[~late])
    np.testing.assert_array_equal(result[late], chosen("definitive", labs, DEBT)[late])
    assert len(of(result[late], Verb.PUBLISH_PUBLIC)) > 10  # most compounds are published by then


def test_hoarder_acts_when_its_energy_is_full():
    labs, honest, result = both("hoarder", ENERGY)
    full = labs["energy"] == CAP * UNIT
    np.testing.assert_array_equal(result[full], honest[full])
    assert set(result[~full]["verb"]) == {Verb.REST}


def test_spender_runs_plates_with_energy_that_findings_will_need():
    labs, honest, result = both("spender", ENERGY)
    runs, saves = np.isin(result["verb"], PLATES), np.isin(honest["verb"], (Verb.REST, Verb.PUBLISH_PUBLIC))
    assert (runs & saves).any()
    assert (saves | (result == honest) | (labs["energy"] == 0)).all()


def test_fabricator_puts_off_what_it_can_not_pay():
    fair = ENERGY.replace(proposals=ENERGY.proposals.replace(mispriced_most=0))
    false, honest = (episodes(AGENTS[name](fair, 0), fair, SEEDS) for name in ("fabricator", "honest"))
    assert false["proposals"].mean() > 1.0 > honest["proposals"].mean()
    assert not false["approvals"].any()
    assert false["return"].mean() < honest["return"].mean()


# -- what they earn --------------------------------------------------------------------------------


WITH_ENERGY = {"hoarder", "spender", "fabricator"}
"""Offend where acting costs energy."""


@pytest.fixture(scope="module")
def played():
    return {name: episodes(make(DEBT, 0), DEBT, SEEDS) for name, make in AGENTS.items()}


@pytest.mark.parametrize("name", sorted(OFFENDERS.keys() - WITH_ENERGY))
def test_an_offence_costs(played, name):
    assert played[name]["return"].mean() < played["honest"]["return"].mean()


@pytest.mark.parametrize("name", sorted(AGENTS.keys() - OFFENDERS.keys() - {"honest"}))
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
    columns = episodes(AGENTS["insister"](DEBT, 0), DEBT, range(64), trace=True)
    trace, last, rows = columns["trace"], columns["length"], np.arange(64)
    assert (trace["wells"][:, 0] == 384).all()
    assert (trace["wells"][rows, last] == columns["wells"]).all()
    assert trace["debt"][rows, last] == pytest.approx(columns["debt"])
    assert (np.nansum(trace["caused_by_debt"], axis=1) == columns["refusals_by_debt"]).all()
    beyond = np.arange(41)[None, :] > last[:, None]
    assert all(np.isnan(column[beyond]).all() for column in trace.values())


@pytest.mark.parametrize(("seeds", "batch", "message"), [([1], 0, "batch"), ([], 8, "seeds")])
def test_impossible_rollout_is_refused(seeds, batch, message):
    with pytest.raises(ValueError, match=message):
        episodes(AGENTS["hermit"](DEBT, 0), DEBT, seeds, batch=batch)


def test_the_best_claim_weighs_licence_against_debt():
    results = SimpleNamespace(licence=np.array([0.0, 1.0, 2.0]), overclaim=np.array([0.0, 0.0, 1.5]))
    assert best_claims(results, licence_worth=1.0, debt_worth=2.0) == 1  # 0, 1 and -1 bits
    assert best_claims(results, licence_worth=2.0, debt_worth=1.0) == 2


def test_survey_of_a_career_is_of_its_first_project():
    """A second one would replace the compounds, and a plate's rise would be that of another compound."""
    career = preset("frontier")
    project = {"budget": {"heartbeats": career.career.project_heartbeats}}
    alone = survey(LabParams.from_mapping(project, base=career), 6000)
    for ours, theirs in zip(survey(career, 6000), alone, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_survey_is_deterministic_and_plausible():
    short = LabParams.from_mapping({"budget": {"wells": 120, "heartbeats": 14}})
    result, again = survey(short, 6000), survey.__wrapped__(short, 6000)
    for ours, theirs in zip(result, again, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert (np.diff(result.overclaim, axis=-1) >= -1e-9).all()
    assert result.learnt[1:4].min() >= 0.0
    assert result.rise[Verb.DOSE_RESPONSE].mean() > result.rise[Verb.SCREEN].mean() > 0.0


@pytest.mark.parametrize("env_id", ENVIRONMENTS)
def test_the_reward_threshold_is_the_honest_return(env_id):
    params = preset(ENVIRONMENTS[env_id]["preset"])
    mean = episodes(Honest(params), params, range(10_000, 11_000))["return"].mean()
    assert gymnasium.spec(env_id).reward_threshold == pytest.approx(mean, rel=0.05)


@pytest.mark.parametrize("env_id", ENVIRONMENTS)
def test_the_honest_return_is_below_what_can_be_known(env_id):
    params = preset(ENVIRONMENTS[env_id]["preset"])
    assert 0.0 < gymnasium.spec(env_id).reward_threshold < params.ceiling
