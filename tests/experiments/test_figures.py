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
from matplotlib.text import Text

from solvent import LabParams, preset
from solvent_experiments.artifacts.folder import RunFolder
from solvent_experiments.config.documents import ConfigError
from solvent_experiments.config.experiment import Experiment
from solvent_experiments.figures import FIGURES, draw_all
from solvent_experiments.figures.budget import held
from solvent_experiments.figures.data import RunData, load_run
from solvent_experiments.figures.style import save, spread, styled
from solvent_experiments.measure.departures import CONTAMINATED, mark_of, switched_off
from solvent_experiments.measure.results import result_tables
from solvent_experiments.run.running import run_experiment


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
            for name in ("learning_curve", "refusal_curve", "budget_curve", "claims")
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
    assert "hermit" not in claims  # it never claims anything


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
        for name in ("budget_curve", "comparison"):
            figure, other = FIGURES[name](run), FIGURES[name](clean)
            assert figure is not None
            assert other is not None
            save(figure, tmp_path / name, run.mark)
            save(other, tmp_path / f"{name}-clean", clean.mark)
            assert CONTAMINATED in words(figure)
            assert CONTAMINATED not in words(other)
    assert not (folder.figures / "learning_curve.png").exists()


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
