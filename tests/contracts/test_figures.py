"""A figure of any level: drawn again from the artifacts alone, readable at column width, marked where it must be."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from matplotlib.image import imread

from solvent import LabParams
from solvent_experiments.artifacts.folder import VERDICTS, RunFolder
from solvent_experiments.figures import FIGURES, draw_all
from solvent_experiments.figures.style import DPI, WIDTH, as_image, head, styled
from solvent_experiments.measure.departures import CONTAMINATED
from tests.runs import DAILY, RESTLESS, Level, texts, words

FROM = ("config.yaml", "episodes.parquet", "training.parquet", "traces.parquet", "gate.json")
"""All that figures may be drawn from, besides the ledgers of verdicts."""


DRAWN_AGAIN = ("smoke", "smoke_lab")
"""Together they have the figures of every level."""


@pytest.mark.parametrize("level", DRAWN_AGAIN, indirect=True)
def test_they_are_drawn_again_from_the_artifacts_alone(level: Level, tmp_path: Path) -> None:
    root = level.folder.root
    for path in (*(root / name for name in FROM), *root.rglob(VERDICTS)):
        if path.exists():
            (tmp_path / path.relative_to(root)).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, tmp_path / path.relative_to(root))
    images = draw_all(RunFolder(tmp_path))
    assert {path.stem for path in images} == {path.stem for path in level.folder.figures.glob("*.png")}
    for path in images:
        image = imread(path)
        assert image.shape[1] == round(WIDTH * DPI)
        assert image[..., :3].std() > 0.02, "blank"
        for again in (path, path.with_suffix(".pdf")):
            assert again.read_bytes() == (level.folder.figures / again.name).read_bytes(), again.name


@pytest.mark.parametrize("level", DAILY, indirect=True)
def test_nothing_is_small_or_cut_off_and_the_mark_covers_no_legend(level: Level) -> None:
    """On the figures of an eventful run that is contaminated."""
    params: LabParams = LabParams.from_mapping({"debt": {"enforced": False}}, base=level.params)
    run = replace(level.eventful_run, params=params)
    found = set()
    for name, draw in FIGURES.items():
        with styled():
            figure = draw(run)
            if figure is None:
                continue
            found.add(name)
            head(figure, run.heading, run.mark)
            as_image(figure, "png")
            assert f"{level.experiment.env}, run {level.experiment.name}" in words(figure).replace(
                " (changed parameters)", ""
            ), name
            box, (width, height) = figure.get_tightbbox(), figure.get_size_inches()
            assert width == WIDTH
            assert min(box.x0, box.y0) >= -0.01, name
            assert box.x1 <= width + 0.01, name
            assert box.y1 <= height + 0.01, name
            for text in texts(figure):
                assert float(text.get_fontsize()) >= 8, (name, text)
            mark = next(text for text in texts(figure) if CONTAMINATED in text.get_text())
            for legend in figure.legends:
                assert not legend.get_window_extent().overlaps(mark.get_window_extent()), name
        if name in ("episode", "comparison"):
            for agent in (RESTLESS, *level.experiment.agents):
                assert agent in words(figure), (name, agent)
    # What is learnt has figures of its own; nothing is missing that a run without training shows.
    assert found >= {path.stem for path in level.folder.figures.glob("*.png")} | {
        "learning_curve",
        "refusal_curve",
    }
