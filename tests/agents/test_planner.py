"""The planner sees no truth, and does better than the script that it plays out."""

from __future__ import annotations

import numpy as np
import pytest

from solvent.lab.batch import LabBatch
from solvent.lab.params import BudgetParams, LabParams, preset
from solvent.lab.state import lab_fields
from solvent_agents import episodes
from solvent_agents.agent import without_truth
from solvent_agents.planning.planner import Planner
from solvent_agents.planning.search import Effort, is_better
from solvent_agents.scripts.honest import Honest
from tests.agents.random_play import random_play

SHORT = LabParams(budget=BudgetParams(wells=100, heartbeats=10))
LAB = preset("lab")
SHORT_LAB = LAB.replace(budget=BudgetParams(wells=120, heartbeats=10, start_hour=8))
LEVELS = {"debt": SHORT, "lab": SHORT_LAB}
QUICK = Effort(worlds=4, most_worlds=4, plates=3, findings=2)


@pytest.fixture(scope="module", params=LEVELS)
def lived(request):
    """Labs of a level after some random play."""
    params = LEVELS[request.param]
    envs, _ = random_play(params, 10, 8, seed=1, forgiven=True)
    return params, envs.get_state()


def decisions(agent, labs, seeds=None):
    """What an agent does in these labs, which are handed to it as they are."""
    agent.start(range(len(labs)) if seeds is None else seeds)
    agent.open(labs.copy())
    return agent.act(np.zeros((len(labs), 1), np.float32), np.zeros((len(labs), 1)))


# -- what it sees -------------------------------------------------------------------------------


def test_poison_in_the_hidden_fields_changes_nothing(lived):
    """Out of range as it is, it would be noticed if anything were looked up by it."""
    params, labs = lived
    clean = without_truth(labs, params)
    poisoned = clean.copy()
    for field in lab_fields(params):
        if field.hidden is not None:
            poisoned[field.name] = np.iinfo(clean.dtype[field.name].base).max
    agent = Planner(params, 0, QUICK)
    np.testing.assert_array_equal(decisions(agent, clean), decisions(agent, poisoned))


def test_its_luck_is_not_the_labs():
    agent = Planner(SHORT, 0, QUICK)
    agent.start(range(100))
    batch = LabBatch(SHORT, 100)
    batch.begin(list(range(100)), np.ones(100, np.bool_), np.random.default_rng(0))
    assert not set(agent._keys.tolist()) & set(batch.labs["key"].tolist())


# -- what it does -------------------------------------------------------------------------------


def test_without_the_records_of_the_labs_it_says_so():
    with pytest.raises(ValueError, match="planner: got 3 labs and the records of 0"):
        Planner(SHORT, 0).act(np.zeros((3, 1), np.float32), np.zeros((3, 1)))


def test_it_departs_from_the_script_for_more_alone():
    more, less = np.array([3.0, 4.0, 5.0]), np.array([1.0, 2.0, 2.5])
    assert is_better(more, less, 3, margin=1.0)
    assert not is_better(less, more, 3, margin=1.0)


def test_it_stays_with_the_script_where_the_difference_is_luck():
    lucky, usual = np.array([0.0, 9.0, 0.0, 1.0]), np.array([1.0, 1.0, 1.0, 1.0])
    assert is_better(lucky, usual, 4, margin=0.5)  # 1.5 bits, with a standard error of 1.9
    assert not is_better(lucky, usual, 4, margin=1.0)


@pytest.mark.slow
def test_planning_beats_the_script():
    """On short episodes, where a decision is quick; the difference is of paired seeds."""
    seeds = range(200)
    script = episodes(Honest(SHORT), SHORT, seeds)["return"]
    assert lower_end(episodes(Planner(SHORT, 0, Effort(worlds=8)), SHORT, seeds)["return"] - script) > 0.0


def lower_end(differences):
    """Lower end of the mean's 95 % interval."""
    return differences.mean() - 1.96 * differences.std(ddof=1) / np.sqrt(len(differences))
