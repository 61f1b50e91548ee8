"""Figures and columns of labs in which acting costs energy; ``tests/contracts`` has what holds of every run."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from solvent.lab.settings import UNIT
from solvent.lab.verbs import VERBS, Verb
from solvent_agents.rollout import traced_prices
from solvent_experiments.artifacts.parquet import flatten, select
from solvent_experiments.figures import FIGURES
from solvent_experiments.figures.data import RunData
from solvent_experiments.figures.energy import of_heartbeats
from tests.runs import RESTLESS, Level, Levels, drawn, words

OF_ENERGY = ("energy_curve", "intents_by_hour", "deferrals", "prices")


@pytest.fixture
def run(levels: Levels) -> RunData:
    return levels("smoke_energy").run


@pytest.fixture
def eventful(levels: Levels) -> RunData:
    return levels("smoke_energy").eventful_run


@pytest.mark.parametrize("level", ["smoke_energy", "smoke_lab"], indirect=True)
def test_energy_is_conserved_in_every_row(level: Level) -> None:
    traces, episodes = level.evaluated.traces, level.evaluated.episodes
    cap = level.params.energy.cap * UNIT
    for row in range(level.experiment.evaluation.trace_episodes):
        mine = select(traces, traces["episode_seed"] == episodes["episode_seed"][row])
        energy, spent, gained = (
            np.round(mine[name].astype(np.float64) * UNIT).astype(int)
            for name in ("energy", "energy_spent", "energy_gained")
        )
        assert (np.diff(energy) == gained[1:] - spent[1:]).all()
        assert ((energy >= 0) & (energy <= cap)).all()
        assert spent.sum() == round(episodes["energy_spent"][row] * UNIT)
        kept = episodes["energy_income"] - episodes["energy_lost"] - episodes["energy_leaked"]
        assert gained.sum() == round(kept[row] * UNIT)
        assert mine["heartbeat"][-1] == episodes["heartbeats"][row] == mine["closed"].sum()


def test_what_is_spent_is_spent_on_an_intent(levels: Levels) -> None:
    episodes = levels("smoke_energy").evaluated.episodes
    parts = [column for name, column in episodes.items() if name.startswith("intents_")]
    np.testing.assert_allclose(np.sum(parts, axis=0), episodes["energy_spent"])
    np.testing.assert_allclose(episodes["intents"], episodes["energy_spent"], atol=1e-9)
    nested = {"intents": {"social": np.array([1.0]), "meta": np.array([0.5])}}
    assert flatten(nested)["intents"].tolist() == [1.5]


def test_prices_of_verbs_that_cost_energy_are_traced(levels: Levels) -> None:
    energy, debt = levels("smoke_energy").experiment.params, levels("smoke").experiment.params
    assert {VERBS[Verb.SCREEN].name, VERBS[Verb.REFLECT].name} <= set(traced_prices(energy))
    assert traced_prices(debt) == {}


def test_figures_name_agents_and_units(eventful: RunData) -> None:
    shown = {name: words(drawn(name, eventful)) for name in OF_ENERGY}
    for name in ("energy_curve", "intents_by_hour", "deferrals"):
        for row in eventful.rows:
            assert row.agent in shown[name], (name, row.agent)
        assert "hour of the day" in shown[name]
        assert "user is away" in shown[name]
    assert "40 heartbeats from 06:00" in shown["energy_curve"]
    assert "exploration" in shown["intents_by_hour"]
    assert "meta" not in shown["intents_by_hour"]  # it costs nothing
    assert "price / fair price" in shown["prices"]
    assert "too dear, argued about" in shown["prices"]
    assert RESTLESS in shown["prices"]
    assert "proposal: hermit" in shown["prices"]  # named as left out: it never argues


def test_a_price_that_is_argued_about_comes_nearer_to_the_fair_one(eventful: RunData) -> None:
    from solvent_experiments.figures.voice import DEAR, DEAR_ARGUED, _ratios

    ratios = _ratios(eventful, RESTLESS)
    start, end = (np.log(ratios[DEAR_ARGUED][:, at]) for at in (0, -1))
    assert len(start) > 5
    assert end.mean() < start.mean()
    assert (end <= start).all()
    assert (ratios[DEAR][:, 0] == ratios[DEAR][:, -1]).all()  # prices change at approvals only


def test_figures_of_nothing_say_so(run: RunData) -> None:
    """The hermit spends, defers and proposes nothing."""
    quiet = replace(
        run,
        rows=tuple(row for row in run.rows if row.agent == "hermit"),
        episodes=select(run.episodes, run.episodes["agent"] == "hermit"),
        traces=select(run.traces, run.traces["agent"] == "hermit"),
    )
    assert "spends nothing" in words(drawn("intents_by_hour", quiet))
    assert "none" in words(drawn("deferrals", quiet))
    assert "0.00 filed, 0.00 approved" in words(drawn("prices", quiet))
    untraced = replace(quiet, traces=select(quiet.traces, quiet.traces["step"] < 0))
    assert all(FIGURES[name](untraced) is None for name in OF_ENERGY)


def test_values_of_a_heartbeat_are_those_of_its_last_action() -> None:
    traces = {
        "step": np.array([0, 1, 2, 3, 0, 1]),
        "heartbeat": np.array([0, 0, 1, 1, 0, 1]),
        "closed": np.array([0, 0, 1, 0, 0, 1], np.bool_),
    }
    values = np.array([9.0, 1.0, 2.0, 3.0, 9.0, 4.0])
    grid = of_heartbeats(traces, values, traces["step"] > 0, 3)
    np.testing.assert_array_equal(grid, [[2.0, 3.0, np.nan], [4.0, np.nan, np.nan]])
