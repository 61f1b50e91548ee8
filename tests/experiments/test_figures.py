"""Figures: each is drawn for every level or left out for a reason, says what its numbers are, and is deterministic."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from solvent_experiments.figures.data import RunData, held, load_run, stretches
from solvent_experiments.figures.drawing import FIGURES
from solvent_experiments.figures.headline import MEASURES, SETTINGS, headline, learners, overclaims
from solvent_experiments.figures.style import PALETTE, as_image, colour_of, head, styled
from solvent_experiments.folder import RunFolder
from solvent_experiments.studies.results import StudyResult
from tests.runs import SMOKE, Runs

ROOT = Path(__file__).resolve().parents[2]
LEFT_OUT = {
    "smoke": {"energy_curve", "verdicts", "words"},
    "smoke_energy": {"learning_curve", "refusal_curve", "verdicts", "words"},
    "smoke_gate": {"learning_curve", "refusal_curve", "energy_curve", "words"},
    "smoke_frontier": {"learning_curve", "refusal_curve", "energy_curve", "verdicts", "words"},
    "smoke_lab": {"learning_curve", "refusal_curve"},
}


CONTAMINATED = "CONTAMINATED: debt tracked and not enforced"


def drawn(name: str, run: RunData) -> Figure:
    with styled():
        figure = FIGURES[name](run)
        assert figure is not None
        head(figure, run.heading, CONTAMINATED)
        figure.canvas.draw()
    return figure


def words(figure: Figure) -> str:
    return "\n".join(artist.get_text() for artist in figure.findobj(Text))


@pytest.fixture(scope="module")
def run(smoke_run: RunFolder) -> RunData:
    return load_run(smoke_run)


@pytest.mark.parametrize(
    "level", [pytest.param(n, marks=() if n == "smoke" else pytest.mark.slow) for n in SMOKE]
)
def test_level_has_its_figures(level: str, runs: Runs) -> None:
    folder = runs(level)
    found = {path.stem for path in folder.figures.glob("*.png")}
    assert found == set(FIGURES) - LEFT_OUT[level]


@pytest.mark.parametrize("name", sorted(set(FIGURES) - LEFT_OUT["smoke"]))
def test_figure_is_deterministic_and_names_the_agents(name: str, run: RunData) -> None:
    figure = drawn(name, run)
    assert as_image(figure, "png") == as_image(drawn(name, run), "png")
    said = words(figure)
    assert CONTAMINATED in said
    agents = run.learned if "curve" in name else [row.agent for row in run.rows]
    assert [agent for agent in agents if agent not in said] == []


def test_agents_that_are_never_refused_are_named(run: RunData) -> None:
    figure = drawn("episode", run)
    refusals = {agent: run.sample(agent, "refusals").pooled.mean() for agent in run.agents}
    assert refusals["random"] > 1
    assert refusals["hermit"] == 0
    reasons = figure.axes[4]
    assert "hermit" in reasons.get_xlabel()
    assert "random" in [label.get_text() for label in reasons.get_yticklabels()]
    place = [label.get_text() for label in reasons.get_yticklabels()].index("random")
    bars = [bar for bar in reasons.patches if abs(bar.get_y() + bar.get_height() / 2 - place) < 0.1]
    assert sum(bar.get_width() for bar in bars) == pytest.approx(refusals["random"])
    by_debt = run.sample("random", "refusals_by_debt").pooled.mean()
    assert next(bar.get_width() for bar in bars) == pytest.approx(by_debt)


def test_values_are_held_to_the_end_of_an_episode() -> None:
    traces = {"heartbeat": np.array([0, 1, 2, 0, 1]), "step": np.array([0, 1, 2, 0, 1])}
    grid = held(traces, np.array([9.0, 8.0, 7.0, 9.0, 5.0]), 3)
    np.testing.assert_array_equal(grid, [[9, 8, 7, 7], [9, 5, 5, 5]])


def test_stretches_have_every_seed() -> None:
    steps = np.array([5, 15, 25, 5, 25])
    seeds = np.array([0, 0, 0, 1, 1])
    found = list(stretches({"steps": steps, "training_seed": seeds}, bins=3))
    assert [[list(rows) for rows in groups] for _, groups in found] == [[[0], [3]], [[2], [4]]]


def test_names_are_text_whatever_their_characters(run: RunData) -> None:
    hostile = "$x_1$ <b>"
    rows = tuple(dataclasses.replace(r, agent=hostile if r.agent == "hermit" else r.agent) for r in run.rows)
    named = np.where(run.episodes["agent"] == "hermit", hostile, run.episodes["agent"])
    changed = dataclasses.replace(run, rows=rows, episodes={**run.episodes, "agent": named})
    assert hostile in words(drawn("comparison", changed))
    assert colour_of(hostile) in PALETTE


def test_headline_is_drawn_from_what_is_kept() -> None:
    kept = StudyResult.read(ROOT / "docs" / "results" / "studies" / "headline.json").series
    with styled():
        curves = words(headline(kept["curves"], 2.0))
        training = words(learners(kept["training"]))
    assert all(text in curves for text in (*MEASURES.values(), *SETTINGS.values(), "threshold", "insister"))
    assert all(text in training for text in SETTINGS.values())


def test_overclaims_over_training_are_those_of_the_seeds() -> None:
    steps = np.repeat(np.arange(1, 61) * 10, 2)
    training = {"steps": steps, "training_seed": np.tile([0, 1], 60), "debt_added": np.tile([1.0, 3.0], 60)}
    found = overclaims(training)
    assert len(found["steps"]) == 30
    assert (set(found["mean"]), set(found["low"]), set(found["high"])) == ({2.0}, {1.0}, {3.0})
