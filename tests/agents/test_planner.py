"""The planner sees no truth, the oracle uses it, and both do better than the policy that they play out."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from solvent.lab.batch import LabBatch
from solvent.lab.environment import LabEnv
from solvent.lab.params import BudgetParams, LabParams, preset
from solvent_agents import PLAYERS, Agent, episodes
from solvent_agents.agent import ReadsNotebook, SeesTruth, TakesTime
from solvent_agents.planning.notebook_record import HIDDEN, without_truth
from solvent_agents.planning.oracle import Oracle
from solvent_agents.planning.planner import Effort, Planner
from solvent_agents.planning.survey import survey
from tests.agents.random_play import random_play

SHORT = LabParams(budget=BudgetParams(wells=120, heartbeats=14))
LAB = preset("lab")
SHORT_LAB = dataclasses.replace(LAB, budget=BudgetParams(wells=160, heartbeats=14, start_hour=8))
LEVELS = {"debt": SHORT, "lab": SHORT_LAB}
QUICK = Effort(worlds=4, most_worlds=4, plates=3, findings=2)
BASE = Effort(worlds=0)


@pytest.fixture(scope="module", params=LEVELS)
def lived(request):
    """Labs of a level after some random play."""
    params = LEVELS[request.param]
    envs, _ = random_play(params, 10, 8, seed=1, forgiven=True)
    return params, envs.get_state()


def decisions(agent, labs, seeds=None):
    """What an agent does in these labs, which are handed to it as they are."""
    agent.start(range(len(labs)) if seeds is None else seeds)
    agent._read(labs.copy())
    return agent.act(np.zeros((len(labs), 1), np.float32), np.zeros((len(labs), 1)))


# -- what it sees -------------------------------------------------------------------------------


class Watched(Planner):
    """Looks into what it is handed."""

    def open(self, notebooks):
        """Nothing hidden is in a notebook."""
        for name in set(HIDDEN) & set(notebooks.dtype.names):
            assert (notebooks[name] == HIDDEN[name][0]).all(), name
        self.opened = getattr(self, "opened", 0) + 1
        super().open(notebooks)


@pytest.mark.parametrize("params", LEVELS.values(), ids=LEVELS)
def test_it_is_handed_nothing_but_notebooks(params):
    agent = Watched(params, 0, BASE)
    columns = episodes(agent, params, range(5))
    assert agent.opened == columns["length"].max()
    assert not isinstance(agent, SeesTruth)


def test_poison_in_the_hidden_fields_changes_nothing(lived):
    """Out of range as it is, it would be noticed if anything were looked up by it."""
    params, labs = lived
    clean = without_truth(labs, params)
    poisoned = clean.copy()
    for name in set(HIDDEN) & set(clean.dtype.names):
        poisoned[name] = np.iinfo(clean.dtype[name].base).max
    for effort in (QUICK, BASE):
        agent = Planner(params, 0, effort)
        np.testing.assert_array_equal(decisions(agent, clean), decisions(agent, poisoned))


def test_its_luck_is_not_the_labs():
    agent = Planner(SHORT, 0, BASE)
    agent.start(range(100))
    batch = LabBatch(SHORT, 100)
    batch.begin(list(range(100)), np.ones(100, np.bool_), np.random.default_rng(0))
    assert not set(agent._keys.tolist()) & set(batch.labs["key"].tolist())


def test_the_oracle_sees_the_truth():
    """A lab in which the belief is wrong, and the same one in which it is right."""
    env = LabEnv(SHORT)
    env.reset(seed=4)
    lab = env.get_state()
    belief = np.full(8, 0.02)
    belief[5] = 0.86
    for m in range(8):
        lab["marginal"][m], lab["conditional"][m] = belief, belief
        lab["entropy"][m] = lab["lowest_entropy"][m] = 0.85
        lab["licence"][m], lab["experiments"][m] = 2.9, 3
    lab["heartbeat"], lab["potency"] = 11, 5
    right, wrong = lab.copy(), lab.copy()
    wrong["potency"] = 2
    labs = np.array([right, wrong], dtype=env.batch.labs.dtype)
    published = np.isin(decisions(Oracle(SHORT, 0, QUICK), labs), publishing(env))
    np.testing.assert_array_equal(published, [True, False])
    blind = decisions(Planner(SHORT, 0, QUICK), labs, seeds=[0, 0])
    assert blind[0] == blind[1]


def publishing(env):
    return np.flatnonzero(~np.isnan(env.actions["confidence"]))


# -- what it does -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["planner", "oracle"])
def test_they_are_agents(name):
    agent = PLAYERS[name](SHORT, 0)
    assert isinstance(agent, Agent)
    assert isinstance(agent, TakesTime)
    assert agent.name == name
    assert isinstance(agent, ReadsNotebook) == (name == "planner")
    assert isinstance(agent, SeesTruth) == (name == "oracle")


@pytest.mark.parametrize("params", LEVELS.values(), ids=LEVELS)
def test_episodes_depend_neither_on_the_batch_nor_on_the_turn(params):
    seeds = [7, 3, 10_000]
    whole = episodes(Planner(params, 2, QUICK), params, seeds)
    parts = episodes(Planner(params, 2, QUICK), params, seeds, batch=1)
    assert (whole["return"] == parts["return"]).all()
    assert (whole["length"] == parts["length"]).all()
    agent = Planner(params, 2, QUICK)
    assert episodes(agent, params, seeds[:1])["return"] == whole["return"][0]
    assert episodes(agent, params, seeds[:1])["return"] == whole["return"][0]


def test_without_the_records_of_the_labs_it_says_so():
    with pytest.raises(ValueError, match="planner: got 3 labs and the records of 0"):
        Planner(SHORT, 0).act(np.zeros((3, 1), np.float32), np.zeros((3, 1)))


@pytest.mark.parametrize("level", ["debt", "energy", "gate", "lab"])
def test_the_base_policy_does_what_runs_and_says_what_comes_out(level):
    """It foresees refusals and verdicts: nothing is refused or rejected, nothing put off but what it asks for."""
    params = preset("default" if level == "debt" else level)
    columns = episodes(Planner(params, 0, BASE), params, range(64))
    assert sum(columns["refusals"].values()).sum() == 0
    assert columns["rejected"].sum() <= 1  # a policy can tighten between a submission and its decision
    if "deferrals" in columns:
        assert (columns["not_executed"] == columns["deferrals"]).all()
        assert columns["approvals"].sum() > 0.7 * columns["proposals"].sum() > 0
    assert columns["return"].mean() > {"debt": 12.0, "energy": 8.0, "gate": 11.0, "lab": 7.0}[level]


@pytest.mark.slow
def test_planning_beats_its_base_policy_and_knowing_beats_planning():
    """On short episodes, where a decision is quick; the difference is of paired seeds."""
    seeds = range(600)
    base, planned = (
        episodes(Planner(SHORT, 0, effort), SHORT, seeds)["return"] for effort in (BASE, Effort(worlds=8))
    )
    known = episodes(Oracle(SHORT, 0, QUICK), SHORT, seeds)
    assert lower_end(planned - base) > 0.0
    assert lower_end(known["return"] - planned) > 0.0
    assert known["wrong"].mean() < 0.1


def lower_end(differences):
    """Lower end of the mean's 95 % interval."""
    return differences.mean() - 1.96 * differences.std(ddof=1) / np.sqrt(len(differences))


# -- what it looks up ---------------------------------------------------------------------------


def test_the_survey_is_the_same_every_time_and_says_what_one_would_expect():
    found = survey(SHORT, 6000)
    again = survey.__wrapped__(SHORT, 6000)
    for ours, theirs in zip(found, again, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    claims = np.array(SHORT.vocabulary.claims)
    assert (found.licence <= claims + 1e-9).all()
    assert (found.overclaim <= claims + 3.0).all()
    assert (np.diff(found.overclaim, axis=-1) >= -1e-9).all()
    assert found.learnt[1:4].min() >= 0.0
    # More doses teach more, and an instrument that is known teaches less about itself than one that isn't.
    assert found.rise[5].mean() > found.rise[4].mean() > 0.0
