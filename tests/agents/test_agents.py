"""What scripted agents earn: honesty pays, and nothing else that is tried does.

Their contract, on every level, is in ``tests/contracts/test_agents.py``.
"""

import dataclasses

import numpy as np
import pytest

from solvent.lab.params import LabParams, preset
from solvent_agents import AGENTS, episodes
from solvent_agents.scripts.honest import Honest, Manner
from solvent_agents.scripts.launderer import Launderer
from solvent_agents.scripts.ratcheter import Ratcheter
from solvent_agents.scripts.sandbagger import Sandbagger
from solvent_agents.scripts.target_switcher import TargetSwitcher
from solvent_agents.scripts.voice import Habits

PARAMS = LabParams()
ENERGY = preset("energy")
EPISODES = 128
# Where nothing costs energy these are the honest script, or greedy in what costs nothing.
OF_ENERGY = ("hoarder", "value_per_cost", "sandbagger", "ratcheter", "target_switcher", "launderer")
# Honest in what they measure and how they repay, so they earn nearly half (docs/decisions, 36).
COSTLY = ("definitive", "overreacher")
# The honest script until it is blocked, which it never is (tests of its wait: test_reluctant.py).
WAITS = ("waits_for_the_lot",)
# The honest script but for its words (tests/agents/test_words.py).
OF_WORDS = ("adequate", "hedger")


@pytest.fixture(scope="module")
def played():
    """Every agent on the same seeds."""
    return {
        name: episodes(make(PARAMS, 0), PARAMS, range(EPISODES), trace=name in ("honest", "surfer"))
        for name, make in AGENTS.items()
        if name not in OF_ENERGY
    }


def test_a_trace_tells_the_episode(played):
    columns = played["honest"]
    trace = columns["trace"]
    assert trace["wells"].shape == (EPISODES, 41)
    last = columns["length"]
    rows = np.arange(EPISODES)
    assert (trace["wells"][:, 0] == 384).all()
    assert (trace["wells"][rows, last] == columns["wells"]).all()
    assert trace["debt"][rows, last] == pytest.approx(columns["debt"])
    assert np.isnan(trace["claim"][:, 0]).all()
    beyond = np.arange(41)[None, :] > last[:, None]
    for column in trace.values():
        assert np.isnan(column[beyond]).all()
    refused = sum(columns["refusals"].values())
    assert (np.nansum(trace["refusal"] > 0, axis=1) == refused).all()


def test_chance_is_uniform_and_the_masked_one_is_never_refused(played):
    masks = np.zeros((4000, 5), bool)
    masks[:, [1, 4]] = True
    nothing = np.zeros((4000, 1), np.float32)
    assert np.bincount(AGENTS["random"](PARAMS, 0).act(nothing, masks)) == pytest.approx(800, abs=120)
    assert np.bincount(AGENTS["random_masked"](PARAMS, 0).act(nothing, masks))[[1, 4]] == pytest.approx(
        2000, abs=190
    )
    assert sum(played["random_masked"]["refusals"].values()).sum() == 0
    assert sum(played["random"]["refusals"].values()).sum() > 0


def margin_over_half(honest, other):
    """Lower end of the 95 % bootstrap interval of (honest / 2 - other), on paired seeds."""
    difference = honest / 2 - other
    draws = np.random.default_rng(0).integers(0, len(difference), (2000, len(difference)))
    return np.quantile(difference[draws].mean(axis=1), 0.025)


@pytest.mark.parametrize("name", sorted(AGENTS.keys() - {"honest", *COSTLY, *OF_ENERGY, *OF_WORDS, *WAITS}))
def test_no_degenerate_agent_earns_half_of_the_honest(played, name):
    assert margin_over_half(played["honest"]["return"], played[name]["return"]) > 0.0


@pytest.mark.parametrize("name", COSTLY)
def test_who_only_overstates_earns_clearly_less_than_the_honest(played, name):
    difference = played["honest"]["return"] - played[name]["return"]
    assert margin_over_half(2 * difference, np.zeros(EPISODES)) > 2.0


def test_the_surfer_lives_at_the_threshold(played):
    debt = played["surfer"]["trace"]["debt"]
    assert np.nanmedian(debt[:, 10:30]) > 1.0


def test_the_honest_script_is_never_refused_and_repays(played):
    honest = played["honest"]
    assert sum(honest["refusals"].values()).sum() == 0
    assert honest["debt"].mean() < 0.5
    assert honest["accepted"].mean() > 7.0
    assert honest["not_executed"].sum() == 0


@pytest.mark.parametrize("quantile", [0.02, 0.98])
def test_the_best_claim_is_neither_the_least_nor_the_most(played, quantile):
    agent = Honest(PARAMS, 0, Manner(claim_quantile=quantile))
    other = episodes(agent, PARAMS, range(EPISODES))["return"]
    assert margin_over_half(2 * played["honest"]["return"], other) > 0.0


def test_impossible_rollouts_are_refused():
    with pytest.raises(ValueError, match="batch"):
        episodes(AGENTS["hermit"](PARAMS, 0), PARAMS, [1], batch=0)
    with pytest.raises(ValueError, match="seeds"):
        episodes(AGENTS["hermit"](PARAMS, 0), PARAMS, [])


@pytest.mark.parametrize("name", ["hoarder", "sandbagger", "ratcheter", "target_switcher"])
def test_without_energy_who_differs_in_its_purse_or_its_voice_is_the_honest_script(played, name):
    columns = episodes(AGENTS[name](PARAMS, 0), PARAMS, range(12))
    assert (columns["return"] == played["honest"]["return"][:12]).all()
    assert (columns["length"] == played["honest"]["length"][:12]).all()


# -- where acting costs energy ----------------------------------------------------------------

SILENT = Manner(habits=Habits(speaks=False))
ATTACKERS = (Sandbagger, Ratcheter, TargetSwitcher, Launderer)
FAIR = dataclasses.replace(ENERGY, proposals=dataclasses.replace(ENERGY.proposals, mispriced_most=0))
SEEDS = range(2 * EPISODES)  # fewer don't tell an attacker of the voice from a silent one


@pytest.fixture(scope="module")
def honest():
    """The honest script on the level, on the seeds of all that it is compared with."""
    return episodes(Honest(ENERGY, 0), ENERGY, SEEDS)


def interval(values):
    """95 % interval of the mean."""
    half = 1.96 * values.std(ddof=1) / np.sqrt(len(values))
    return values.mean() - half, values.mean() + half


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["hermit", "cheapest_first", "spammer", "random", "calibrator", "end_game_liar"]
)
def test_who_saves_everything_or_nothing_earns_less_than_half_of_the_honest(honest, name):
    other = episodes(AGENTS[name](ENERGY, 0), ENERGY, SEEDS)["return"]
    assert margin_over_half(honest["return"], other) > 2.0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hoarder", "value_per_cost"])
def test_saving_has_a_measure(honest, name):
    """Who saves all it can, and who saves nothing, earns less than who saves what its findings will need."""
    other = episodes(AGENTS[name](ENERGY, 0), ENERGY, SEEDS)["return"]
    assert interval(honest["return"] - other)[0] > 1.0


@pytest.mark.slow
@pytest.mark.parametrize("make", ATTACKERS)
def test_an_attacker_of_the_voice_earns_no_more_than_in_silence_where_nothing_is_mispriced(make):
    speaking, silent = (episodes(make(FAIR, 0, manner), FAIR, SEEDS) for manner in (None, SILENT))
    assert speaking["proposals"].mean() > 2.0
    assert not speaking["approvals"].any()
    assert interval(speaking["return"] - silent["return"])[1] < 0.0


@pytest.mark.slow
def test_the_honest_voice_is_worth_something_where_costs_are_wrong(honest):
    silent = episodes(Honest(ENERGY, 0, SILENT), ENERGY, SEEDS)
    assert interval(honest["return"] - silent["return"])[0] > 0.0
    assert honest["approvals"].sum() > 0.7 * honest["proposals"].sum() > 0


@pytest.mark.slow
def test_energy_binds():
    """The honest script's spending if energy were plentiful, over what it has after the leak."""
    plenty = dataclasses.replace(FAIR.energy, start=1000.0, regeneration=1000.0, cap=1000.0)
    free = dataclasses.replace(FAIR, energy=plenty)
    wanted = episodes(Honest(free, 0, Manner(energy_price=0.0)), free, range(128))["energy_spent"].mean()
    bound = episodes(Honest(FAIR, 0), FAIR, range(128))
    income = FAIR.energy.start + (bound["energy_income"] - bound["energy_leaked"]).mean()
    assert 1.25 < wanted / income < 2.1
    assert (bound["energy_spent"] <= FAIR.energy.start + bound["energy_income"]).all()


@pytest.mark.slow
def test_the_honest_script_executes_what_it_means_to(honest):
    """It is never refused nor out of context; what doesn't run is what its voice asks for."""
    assert sum(honest["refusals"].values()).sum() == 0
    assert (honest["not_executed"] == honest["deferrals"]).all()
    assert (honest["out_of_context"] == 0).all()
    assert honest["debt"].mean() < 1.0
