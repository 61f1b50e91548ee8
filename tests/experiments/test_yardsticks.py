"""The planner and the oracle in evaluations, and returns as shares of what there is to be had."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from solvent import LabParams
from solvent.lab.params import BudgetParams, preset
from solvent_agents.exact.optimum import known_optimum
from solvent_agents.planning.planner import Effort, Planner
from solvent_experiments.artifacts.folder import REFUSALS
from solvent_experiments.artifacts.parquet import NO_SEED
from solvent_experiments.cli.compare import evaluate_agents, make_agent
from solvent_experiments.config.experiment import Evaluation, known_agent
from solvent_experiments.measure.results import drawn_results
from solvent_experiments.measure.summary import summary, to_mappings
from solvent_experiments.play import play_episode
from solvent_experiments.run.evaluation import evaluate
from tests.commands import console, written

SHORT = LabParams(budget=BudgetParams(wells=120, heartbeats=14))
QUICK = Effort(worlds=2, most_worlds=2, plates=2, findings=1)
TINY = "Solvent/Tiny-v0"


@pytest.fixture(scope="module")
def evaluated():
    """Four episodes of the planner, and how they went on."""
    told = []
    evaluation = Evaluation(episodes=4, ledger_episodes=3, trace_episodes=2)
    found = evaluate(
        Planner(SHORT, 0, QUICK), SHORT, evaluation, on_progress=lambda done, _: told.append(done)
    )
    assert found is not None
    return found, told


def test_every_episode_of_an_agent_that_takes_time_is_progress(evaluated):
    assert evaluated[1] == [0, 1, 2, 3, 4]


def test_what_it_did_is_replayed_for_traces_and_ledgers(evaluated):
    found, _ = evaluated
    assert np.unique(found.traces["episode_seed"]).tolist() == [10_000, 10_001]
    assert len(found.ledgers[REFUSALS]) == found.episodes["refusals"][:3].sum()
    assert len(found.episodes["return"]) == 4


def test_it_can_be_stopped_between_episodes():
    told = []
    stopped = evaluate(
        Planner(SHORT, 0, QUICK),
        SHORT,
        Evaluation(episodes=50),
        on_progress=lambda done, _: told.append(done),
        should_stop=lambda: True,
    )
    assert stopped is None
    assert told == [0, 1]


# -- shares -------------------------------------------------------------------------------------


def rows_of(params, returns):
    owner = {"agent": np.full(len(returns), "x", object), "training_seed": np.full(len(returns), NO_SEED)}
    nothing = {
        name: np.zeros(len(returns)) for name in ("refusals", "debt", "accepted", "wrong", "is_success")
    }
    return summary({**owner, "return": np.asarray(returns, float), **nothing}, params)


def test_returns_are_shares_of_the_ceiling_and_of_the_optimum():
    returns = [6.0, 12.0, 12.0, 18.0]
    (row,) = rows_of(LabParams(), returns)
    assert row.mean("ceiling_share") == pytest.approx(0.5)
    assert row.interval("ceiling_share") == pytest.approx(tuple(number / 24.0 for number in row.score))
    assert "optimum_share" not in row.measured
    tiny = preset("tiny")
    optimum = known_optimum(tiny)
    (row,) = rows_of(tiny, [optimum] * 4)
    assert row.interval("optimum_share") == pytest.approx((1.0, 1.0, 1.0))
    assert row.mean("ceiling_share") == pytest.approx(optimum / tiny.ceiling)
    assert to_mappings([row])[0]["optimum_share"] == pytest.approx({"value": 1.0, "low": 1.0, "high": 1.0})


@pytest.mark.parametrize("params", [LabParams(), preset("tiny")], ids=["debt", "tiny"])
def test_the_table_has_them_and_cuts_nothing_in_80_columns(params):
    costs = {"energy_spent": 0.0} if params.energy.enabled else {}
    (row,) = rows_of(params, [-1.0, 1.5, 2.0, 4.0])
    rows = [dataclasses.replace(row, agent="a_rather_long_name/seed-0", measured=row.measured | costs)]
    page = console(80)
    page.print(drawn_results(rows, title="t")[0])
    assert "…" not in written(page)
    assert ("opti" in written(page).partition("Interquartile")[0]) == ("optimum_share" in rows[0].measured)


def test_without_parameters_there_are_no_shares():
    rows = rows_of(None, [1.0, 2.0])
    assert "ceiling_share" not in rows[0].measured


# -- by name ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["planner", "oracle"])
def test_they_are_known_by_name(name):
    known_agent(name)
    assert make_agent(name, preset("tiny")).name == name


def test_they_are_evaluated_and_watched_by_name():
    page = console()
    evaluate_agents(["planner", "oracle"], TINY, range(10_000, 10_006), out=None, ledger=None, console=page)
    assert "planner: evaluation, 6 episodes" in written(page)
    assert "oracle " in written(page)
    play_episode(TINY, "planner", 3, 0.0, console=page)
    assert "The same lab, seed" in written(page)
