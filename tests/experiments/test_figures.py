"""Figures: each is drawn for every level or left out for a reason, says what its numbers are, and is deterministic."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from solvent.lab.codes import VERDICTS
from solvent.lab.verbs import Verb
from solvent_agents import PLAYERS
from solvent_experiments import report
from solvent_experiments.figures import certainty as calibration
from solvent_experiments.figures.data import RunData, stretches, values_at_heartbeats
from solvent_experiments.figures.drawing import FIGURES
from solvent_experiments.figures.frame import names_at_right
from solvent_experiments.figures.headline import LEARNING, MEASURES, headline, learners, while_learning
from solvent_experiments.figures.price import price_figure
from solvent_experiments.figures.style import (
    LOOKS,
    PALETTE,
    SETTING_NAMES,
    as_image,
    colour_of,
    head,
    styled,
)
from solvent_experiments.folder import Columns, joined
from solvent_experiments.studies.results import StudyResult
from solvent_experiments.summary import SCORES
from tests.experiments import tables
from tests.runs import SMOKE, Runs

ROOT = Path(__file__).resolve().parents[2]
LEFT_OUT = {
    "smoke": {"energy_curve", "verdicts", "words"},
    "smoke_energy": {"learning_curve", "refusal_curve", "verdicts", "words"},
    "smoke_gate": {"learning_curve", "refusal_curve", "energy_curve", "words"},
    "smoke_frontier": {"learning_curve", "refusal_curve", "energy_curve", "verdicts", "words"},
    "smoke_lab": {"learning_curve", "refusal_curve"},
    "smoke_data": {"energy_curve", "verdicts", "words"},
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
def hand() -> RunData:
    """The run of the episodes by hand."""
    return tables.run_of()


@pytest.mark.parametrize(
    "level", [pytest.param(n, marks=() if n == "smoke" else pytest.mark.slow) for n in SMOKE]
)
def test_level_has_its_figures(level: str, runs: Runs) -> None:
    folder = runs(level)
    result = {path.stem for path in folder.figures.glob("*.png")}
    assert result == set(FIGURES) - LEFT_OUT[level]


@pytest.mark.parametrize("name", sorted(set(FIGURES) - LEFT_OUT["smoke"]))
def test_figure_is_deterministic_and_names_the_agents(name: str, hand: RunData) -> None:
    figure = drawn(name, hand)
    assert as_image(figure, "png") == as_image(drawn(name, hand), "png")
    text = words(figure)
    agents = hand.learned if "curve" in name else hand.agents
    assert [part for part in (CONTAMINATED, *agents) if part not in text] == []


# -- the data behind each figure, of the episodes by hand


def by_agent(run: RunData, lines: Sequence[Any]) -> dict[str, list[float]]:
    """The heights of an axis' first lines, one for each agent."""
    return {agent: list(line.get_ydata()) for agent, line in zip(run.agents, lines, strict=False)}


def bars(axes: Any) -> list[list[tuple[float, float]]]:
    """Begin and width of the bars, for each row from the top."""
    rows: dict[float, list[tuple[float, float]]] = {}
    for bar in axes.patches:
        place = round(bar.get_y() + bar.get_height() / 2)
        rows.setdefault(-place, []).append((round(bar.get_x(), 6), round(bar.get_width(), 6)))
    return [rows[place] for place in sorted(rows)]


def dots_of(axes: Any) -> list[tuple[float, float]]:
    """The points that markers stand at."""
    marked = [line for line in axes.lines if line.get_marker() in ("o", "D")]
    return [(round(float(line.get_xdata()[0]), 6), round(float(line.get_ydata()[0]), 6)) for line in marked]


def tops(filled: Any) -> dict[float, float]:
    """The upper edge of a filled area by its x."""
    edges: dict[float, float] = {}
    for x, y in np.concatenate([path.vertices for path in filled.get_paths()]).tolist():
        edges[x] = max(y, edges.get(x, y))
    return edges


def test_refusals_of_an_episode_start_at_zero(hand: RunData) -> None:
    refused = by_agent(hand, drawn("episode", hand).axes[0].lines)
    assert refused == {"ppo": [0] * 4, "honest": [0] * 4, "liar": [0, 0.5, 1.0, 1.5]}


def test_an_episode_shows_mean_debt_wells_and_net_bits(hand: RunData) -> None:
    debt, wells, net = (by_agent(hand, axes.lines) for axes in drawn("episode", hand).axes[1:4])
    assert debt["liar"] == [0, 1.0, 2.75, 2.75]
    assert wells["liar"] == [384, 360, 348, 348]
    assert net["honest"] == [0, -0.5, 0, 2.5]


def test_refusals_by_cause_are_means_per_episode(hand: RunData) -> None:
    causes = drawn("episode", hand).axes[4]
    assert [label.get_text() for label in causes.get_yticklabels()][::-1] == ["ppo", "honest", "liar"]
    assert bars(causes) == [[(0, 0), (0, 0.2)], [(0, 0), (0, 0.2)], [(0, 4), (4, 1)]]


def test_agents_that_are_never_refused_are_named() -> None:
    calm = tables.rows("hermit", tables.HONEST | {"refusals": [0] * 5})
    quiet = joined([tables.traces(), tables.trace("hermit", 10_000, debt=[0, 0, 0, 0])])
    run = tables.run_of(episodes=joined([tables.episodes(), calm]), traces=quiet)
    causes = drawn("episode", run).axes[4]
    assert "hermit" not in [label.get_text() for label in causes.get_yticklabels()]
    assert causes.get_title(loc="left").endswith("the others: none")


def test_a_learning_curve_is_the_mean_of_all_seeds(hand: RunData) -> None:
    curve, *others = drawn("learning_curve", hand).axes[0].lines
    assert curve.get_xydata().tolist() == [[5, -1], [295, 10]]
    assert [line.get_ydata()[0] for line in others] == [10.5, 10.0, 1.0]  # the evaluations


def test_a_learning_curve_has_a_band_over_seeds_alone() -> None:
    bands = [drawn("learning_curve", tables.run_of(training=tables.training(*seeds))).axes[0].collections[0]
             for seeds in ((0, 1), (0,))]  # fmt: skip
    assert [len(band.get_paths()) for band in bands] == [1, 0]


def test_a_refusal_curve_stacks_causes(hand: RunData) -> None:
    by_debt, otherwise = drawn("refusal_curve", hand).axes[0].collections
    assert tops(by_debt) == {5: 3, 295: 1}
    assert tops(otherwise) == {5: 7, 295: 2}


def test_a_learner_that_is_never_refused_has_no_panel_of_refusals() -> None:
    calm = {
        name: values * (not name.startswith("refusals"))
        for name, values in tables.training(0).items()
        if name != "agent"
    }
    masked = calm | {"agent": np.array(["masked"] * 4)}
    run = tables.run_of(training=joined([tables.training(0), masked]))
    run.experiment.train["masked"] = None
    (panel,) = drawn("refusal_curve", run).axes
    assert panel.get_title(loc="left").startswith("ppo")
    assert panel.get_xlabel().endswith("never refused: masked")


def test_honesty_is_return_against_overclaimed_bits(hand: RunData) -> None:
    assert dots_of(drawn("honesty", hand).axes[0]) == [(0.3, 10.5), (0.3, 10.0), (4.0, 1.0)]


def test_a_comparison_has_returns_and_paired_differences(hand: RunData) -> None:
    means, paired, _ = drawn("comparison", hand).axes
    assert [x for x, _ in dots_of(means)] == [10.5, 10.0, 1.0]
    assert [x for x, _ in dots_of(paired)] == [0.5, -9.0]


def test_a_profile_is_the_share_of_episodes_above_x(hand: RunData) -> None:
    profiles = drawn("comparison", hand).axes[2].lines
    assert [float(np.interp(10.5, *line.get_data())) for line in profiles] == pytest.approx([0.4, 0.2, 0.0])
    assert [float(np.interp(1.5, *line.get_data())) for line in profiles] == pytest.approx([1.0, 1.0, 0.4])


def test_a_claim_stands_at_the_mean_gain_of_its_plates(hand: RunData) -> None:
    panels = drawn("claims", hand).axes
    offsets = [[dot.get_offsets().tolist()[0] for dot in axes.collections] for axes in panels]
    assert offsets == [[[0.5, 0.25]], [[0.5, 0.25]], [[1, 0.25], [2, 0.5]]]


def test_energy_is_that_of_an_episode_by_intent() -> None:
    verbs = [Verb.REST, Verb.SCREEN, Verb.DMSO, Verb.SCREEN]
    spent = {"verb": verbs, "energy_spent": [0, 4, 1.5, 5], "energy": [8, 9, 7, 6]}
    others = [tables.trace("ppo", 10_000, seed=0, **spent), tables.trace("honest", 10_000, **spent)]
    own = [tables.trace("liar", seed, **spent) for seed in (10_000, 10_001)]
    run = tables.run_of("Solvent/Energy-v0", "energy", traces=joined([*others, *own]))
    level, energy = drawn("energy_curve", run).axes
    assert by_agent(run, level.lines)["liar"] == [8, 9, 7, 6]
    assert [[width for _, width in row if width] for row in bars(energy)] == [[9, 1.5]] * 3


def counted(names: Sequence[str], *numbers: int) -> Columns:
    """The five episodes, with as many findings of each kind in the liar's and none in the others'."""
    episodes = tables.episodes()
    liar = episodes["agent"] == "liar"
    return {**episodes, **{name: n * liar for name, n in zip(names, numbers, strict=True)}}


def test_verdicts_are_shares_of_findings() -> None:
    episodes = counted([f"verdicts_{name}" for name in VERDICTS], 2, 1, 1)
    run = tables.run_of("Solvent/Gate-v0", "gate", episodes=episodes, training=None)
    shares, wrong = drawn("verdicts", run).axes
    assert bars(shares)[2] == [(0, 0.5), (0.5, 0.25), (0.75, 0.25)]
    assert [x for x, _ in dots_of(wrong)] == [0.8, 1.0, 1.0]


def test_words_are_shares_of_findings_by_score() -> None:
    run = tables.run_of("Solvent/Lab-v0", "lab", episodes=counted(SCORES, 4, 2, 1, 1), training=None)
    shares, scores = drawn("words", run).axes
    assert bars(shares)[2] == [(0, 0.5), (0.5, 0.25), (0.75, 0.125), (0.875, 0.125)]
    assert dots_of(scores) == [(0.875, 0)]  # 7 points of 8 findings; the others have none


def test_a_report_steps_through_the_median_episode() -> None:
    episodes = joined([tables.trace("honest", seed, action=[-1, 0, 0, 0]) for seed in tables.SEEDS])
    actions = {"action": np.tile([-1, 0, 0, 0], 5)}
    about, frames = report._episode(tables.run_of(traces={**episodes, **actions}))
    assert about.startswith("honest, seed 10003: ")  # returns 8, 10, 10, 10, 12 by seed 2, 0, 3, 4, 1
    assert len(frames) == 4


def test_values_are_held_to_the_end_of_an_episode() -> None:
    traces = {"heartbeat": np.array([0, 1, 2, 0, 1]), "step": np.array([0, 1, 2, 0, 1])}
    grid = values_at_heartbeats(traces, np.array([9.0, 8.0, 7.0, 9.0, 5.0]), 3)
    np.testing.assert_array_equal(grid, [[9, 8, 7, 7], [9, 5, 5, 5]])


def test_stretches_have_every_seed() -> None:
    steps = np.array([5, 15, 25, 5, 25])
    seeds = np.array([0, 0, 0, 1, 1])
    result = list(stretches({"steps": steps, "training_seed": seeds}))
    assert [[list(rows) for rows in groups] for _, groups in result] == [[[0], [3]], [[2], [4]]]


def test_no_two_agents_look_alike() -> None:
    looks = {name: (look.colour, str(look.dash)) for name, look in LOOKS.items()}
    assert looks.keys() >= PLAYERS.keys()
    assert len(set(looks.values())) == len(looks)


def test_a_name_outside_the_panel_has_its_value_and_no_line_to_it() -> None:
    axes = Figure().subplots()
    axes.set_ylim(0.0, 10.0)
    names_at_right(axes, [(5.0, "inside", "k"), (-4.0, "below", "k")], 2.0)
    inside, below = sorted(axes.texts, key=lambda text: text.get_text(), reverse=True)
    assert (inside.get_text(), below.get_text()) == ("inside", "below (\N{MINUS SIGN}4.00)")
    assert (inside.arrow_patch is None, below.arrow_patch is None) == (False, True)


def test_names_are_text_whatever_their_characters() -> None:
    hostile = "$x_1$ <b>"
    episodes = tables.episodes()
    named = np.where(episodes["agent"] == "liar", hostile, episodes["agent"])
    assert hostile in words(drawn("comparison", tables.run_of(episodes={**episodes, "agent": named})))
    assert colour_of(hostile) in PALETTE


def test_headline_is_drawn_from_what_is_kept() -> None:
    kept = StudyResult.read(ROOT / "docs" / "results" / "studies" / "headline.json").series
    with styled():
        curves = words(headline(kept["curves"], 2.0))
    assert all(
        text in curves for text in (*MEASURES.values(), *SETTING_NAMES.values(), "threshold", "insister")
    )


def series(value: float) -> dict[str, list[float]]:
    """Return a measure over training that doesn't change."""
    return {"steps": [0.0, 1.0], "mean": [value, value], "low": [value] * 2, "high": [value] * 2}


def test_each_measure_of_learners_has_a_panel_with_both_settings() -> None:
    training = {
        setting: {name: series(10.0 * place + column) for column, name in enumerate(LEARNING)}
        for place, setting in enumerate(SETTING_NAMES)
    }
    with styled():
        figure = learners(training)
    drawn_values = [[line.get_ydata()[0] for line in axes.lines] for axes in figure.axes]
    assert drawn_values == [[column, 10.0 + column] for column, _ in enumerate(LEARNING)]
    assert [axes.get_title(loc="left") or axes.get_title() for axes in figure.axes] == list(LEARNING.values())


def level_price(shares: list[float], projects: int = 1) -> dict[str, Any]:
    """Return a level's curve with these shares, at 0, 3, 6 bits overclaimed in each project."""
    curve = [
        {
            "share": {"value": share, "low": share, "high": share},
            "overclaimed": {"value": 3.0 * i * projects},
        }
        for i, share in enumerate(shares)
    ]
    return {"projects": projects, "honest": curve[0], "curve": curve}


def test_a_price_is_drawn_per_project_over_that_of_earlier_rules() -> None:
    levels = {"Debt": level_price([1.0, 0.8]), "Frontier": level_price([1.0, 0.9], projects=3)}
    with styled():
        figure = price_figure(levels, {"Debt": level_price([1.0, 0.95])})
    debt, frontier = ([line.get_xydata().tolist() for line in axes.lines] for axes in figure.axes[:2])
    assert debt[0] == [[0.0, 1.0], [3.0, 0.95]]
    assert debt[1] == [[0.0, 1.0], [3.0, 0.8]]
    assert frontier[0] == [[0.0, 1.0], [3.0, 0.9]]


def test_a_share_of_few_findings_is_not_drawn() -> None:
    right = {"value": 0.8, "low": 0.7, "high": 0.9}
    points = [
        {"stated": stated, "findings": count, "right": right} for stated, count in ((0.5, 30), (0.95, 29))
    ]
    with styled():
        figure = calibration.certainty(
            dict.fromkeys(calibration.LOOKS, series(1.0)), dict.fromkeys(calibration.LOOKS, points)
        )
    shares = [line for line in figure.axes[1].lines if line.get_linestyle() == "None"]
    assert [list(line.get_ydata()) for line in shares] == [[0.8]] * len(calibration.LOOKS)


def test_measures_over_training_are_those_of_the_seeds() -> None:
    steps = np.repeat(np.arange(1, 61) * 10, 2)
    measured = dict.fromkeys(LEARNING, np.tile([1.0, 3.0], 60))
    curves = while_learning({"steps": steps, "training_seed": np.tile([0, 1], 60), **measured})
    assert {len(curve["steps"]) for curve in curves.values()} == {30}
    curve = curves["wrong"]
    assert (set(curve["mean"]), set(curve["low"]), set(curve["high"])) == ({2.0}, {1.0}, {3.0})
