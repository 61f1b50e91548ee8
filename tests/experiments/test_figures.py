"""What figures and the marks on them say; ``tests/contracts/test_figures.py`` has what holds of every figure."""

from __future__ import annotations

import itertools
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.patches import StepPatch
from matplotlib.text import Text

from solvent import LabParams, preset
from solvent.lab.codes import REFUSAL_REASONS
from solvent_agents.registry import PLAYERS
from solvent_experiments.artifacts.folder import RunFolder
from solvent_experiments.config.documents import ConfigError
from solvent_experiments.config.experiment import Experiment, load_experiment
from solvent_experiments.figures import FIGURES, draw_all
from solvent_experiments.figures.after_refusal import REACTIONS
from solvent_experiments.figures.data import RunData, load_run
from solvent_experiments.figures.energy import INTENT_COLOURS
from solvent_experiments.figures.frame import held
from solvent_experiments.figures.strictness import LEVEL_COLOURS
from solvent_experiments.figures.style import (
    AGENTS,
    CATEGORIES,
    PALETTE,
    REASONS,
    colour_of,
    head,
    looks,
    spread,
    styled,
)
from solvent_experiments.figures.verdicts import VERDICT_COLOURS
from solvent_experiments.figures.words import SCORE_COLOURS
from solvent_experiments.measure.departures import CONTAMINATED, mark_of, switched_off
from solvent_experiments.measure.results import result_tables
from solvent_experiments.run.running import run_experiment

CONFIGS = Path(__file__).parents[2] / "configs"


def words(figure: Figure) -> str:
    """Everything that is written on a figure."""
    return "\n".join(artist.get_text() for artist in figure.findobj() if isinstance(artist, Text))


@pytest.fixture(scope="module")
def run(smoke_run: RunFolder) -> RunData:
    return load_run(smoke_run)


def test_units_and_training_seeds_are_named(run: RunData) -> None:
    with styled():
        learning, refusals, budget, claims = (
            words(FIGURES[name](run))  # type: ignore[arg-type]
            for name in ("learning_curve", "refusal_curve", "episode", "claims")
        )
    assert "(bits)" in learning
    assert "steps" in learning
    assert "refusals per episode" in refusals
    assert "ppo, mean of 2 training seeds" in refusals
    assert "ppo: 2 training seeds" in learning
    assert "debt above threshold" in refusals
    assert "wells left" in budget
    assert "debt (bits)" in budget
    assert "realised (bits)" in claims
    assert "dashed: claim = realised" in claims
    assert "no experiment: " in claims
    assert "hermit" in claims.partition("no experiment: ")[2]  # it never claims anything


@pytest.mark.parametrize(
    ("changes", "mark", "off"),
    [
        ({}, "", ()),
        ({"debt": {"enforced": False}}, "CONTAMINATED: debt tracked and not enforced", ()),
        (
            {"adequacy": {"enforced": False}, "gate": {"enforced": False}},
            "CONTAMINATED: gate and adequacy tracked and not enforced",
            (),
        ),
        ({"adequacy": {"enabled": False}}, "switched off: adequacy", ("adequacy",)),
        (
            {"proposals": {"enabled": False}, "energy": {"enabled": False}, "assay": {"lot_heartbeats": 42}},
            "switched off: energy, proposals, lots",
            ("energy", "proposals", "lots"),
        ),
    ],
)
def test_what_a_run_lacks_of_its_level_is_its_mark(
    changes: dict[str, Any], mark: str, off: tuple[str, ...]
) -> None:
    level = preset("lab")
    params: LabParams = LabParams.from_mapping(changes, base=level)
    assert mark_of(params, level) == mark
    assert switched_off(params, level) == off


def test_a_contaminated_run_says_so_everywhere(smoke: Experiment, tmp_path: Path) -> None:
    params: LabParams = LabParams.from_mapping({"debt": {"enforced": False}}, base=smoke.params)
    few = smoke.evaluation.model_copy(update={"episodes": 5})
    experiment = replace(smoke, params=params, train={}, agents=("random", "honest"), evaluation=few)
    folder = run_experiment(experiment, tmp_path / "run", quiet=True)
    run = load_run(folder)
    assert run.contaminated
    assert run.episodes["contaminated"].all()
    assert '"contaminated": true' in folder.manifest.read_text()
    assert '"contaminated": true' in folder.summary.read_text()
    assert CONTAMINATED in result_tables(run.rows, title="x", mark=run.mark)[0].title
    clean = replace(run, params=smoke.params)
    with styled():
        for name in ("episode", "comparison"):
            figure, other = FIGURES[name](run), FIGURES[name](clean)
            assert figure is not None
            assert other is not None
            head(figure, run.heading, run.mark)
            head(other, clean.heading, clean.mark)
            assert CONTAMINATED in words(figure)
            assert CONTAMINATED not in words(other)
    assert not (folder.figures / "learning_curve.png").exists()


def test_the_first_figure_has_the_refusals_of_the_evaluation_by_hour_and_reason(run: RunData) -> None:
    assert next(iter(FIGURES)) == "episode"
    with styled():
        figure = FIGURES["episode"](run)
    assert figure is not None
    for agent, axes in zip(run.agents, figure.axes[2::3], strict=True):
        traces = run.traces_of(agent)
        bars = [patch for patch in axes.patches if isinstance(patch, StepPatch)]
        for code, bar in enumerate(bars, 1):
            values, _, base = bar.get_data()
            often = (values - base) * (traces["heartbeat"] == 0).sum()
            beats = np.bincount(traces["heartbeat"][traces["refusal"] == code], minlength=len(often) + 1)[1:]
            assert often == pytest.approx(beats), (agent, code)
        assert len(bars) == len(REFUSAL_REASONS)
        told = run.episodes["refusals"][run.episodes["agent"] == agent].mean()
        assert axes.get_title(loc="right") == (f"{told:.1f}" if told else "none")


def test_an_agent_has_its_colour_whoever_is_beside_it(run: RunData) -> None:
    one = replace(run, rows=tuple(row for row in run.rows if row.agent == "random"))
    with styled():
        for name in ("honesty", "claims"):
            for shown in (run, one):
                figure = FIGURES[name](shown)
                assert figure is not None
                texts = [*figure.findobj(Text)]
                (title,) = (text for text in texts if isinstance(text, Text) and text.get_text() == "random")
                assert title.get_color() == colour_of("random")


def test_no_two_agents_of_a_shipped_run_look_alike() -> None:
    for path in CONFIGS.glob("*.yaml"):
        experiment = load_experiment(path)
        agents = [*experiment.train, *experiment.agents]
        assert len(set(looks(agents).values())) == len(agents), path.name
    assert set(AGENTS) - {"ppo"} <= set(PLAYERS)


def test_a_category_never_has_the_colour_of_an_agent() -> None:
    drawn = {*VERDICT_COLOURS.values(), *REACTIONS.values(), *INTENT_COLOURS.values(), *SCORE_COLOURS}
    drawn |= {colour for _, colour in REASONS.values()} | {*LEVEL_COLOURS} | {*CATEGORIES}
    assert drawn.isdisjoint(PALETTE)


def test_values_are_held_after_the_end() -> None:
    traces = {
        "heartbeat": np.array([0, 1, 2, 0, 1]),
        "wells": np.array([9, 8, 7, 9, 5]),
    }
    assert held(traces, "wells", 3).tolist() == [[9, 8, 7, 7], [9, 5, 5, 5]]


def test_labels_are_moved_apart() -> None:
    moved = spread([0.5, 0.5, 0.51, 0.9], 0.1)
    assert all(b - a >= 0.099 for a, b in itertools.pairwise(moved))
    assert moved[3] == pytest.approx(0.9, abs=0.05)
    assert spread([0.1, 0.9], 0.1) == [0.1, 0.9]


def test_no_run_is_an_error(tmp_path: Path, smoke_run: RunFolder) -> None:
    with pytest.raises(ConfigError, match="no run"):
        draw_all(RunFolder(tmp_path))
    shutil.copy(smoke_run.config, tmp_path / "config.yaml")
    with pytest.raises(ConfigError, match="not finished"):
        draw_all(RunFolder(tmp_path))
