"""The lines that a run writes to a log."""

from __future__ import annotations

import pytest

from solvent_experiments.run import progress
from solvent_experiments.run.progress import Lines
from tests.commands import console, written


def test_the_time_left_counts_from_the_first_steps_of_a_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    page = console(100)
    lines = Lines(page)
    monkeypatch.setattr(progress.time, "monotonic", lambda: now)
    for now, stage, done in (  # noqa: B007 - the clock reads it
        (0.0, "evaluation", 0),
        (100.0, "training", 400),  # resumed
        (110.0, "training", 400),  # set up
        (170.0, "training", 500),  # compiled
        (180.0, "training", 600),
    ):
        lines.update("ppo", stage, done, 1000, "steps")
    assert written(page).splitlines() == [
        "ppo: evaluation, 1,000 steps",
        "ppo: training from 400, 1,000 steps",
        "ppo: training, 600 of 1,000 steps, 40 s left",
    ]
