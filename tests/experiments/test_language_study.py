"""The result and the figure of the study ``language``, from episodes by hand."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.language import COLUMNS, SEEDS, drawn, result_of, transcripts
from solvent_experiments.figures.language import SCRIPTS, smoothed
from solvent_experiments.studies.results import StudyResult


def columns(**values: list[float]) -> dict[str, list[float]]:
    """Two episodes; what isn't given is 0, and two findings were accepted in each."""
    nothing: dict[str, list[float]] = {name: [0.0, 0.0] for name in (*COLUMNS, "wrong")}
    return nothing | {"accepted": [2.0, 2.0]} | values


def arm(overclaimed: list[float], wrong: list[float]) -> dict[str, Any]:
    training = [{"debt_added": float(step), "return": 1.0} for step in range(25)]
    after = {
        "columns": columns(debt_added=overclaimed, wrong=wrong),
        "transcripts": [["a lab"], ["another lab"]],
    }
    return {"training": training, "halfway": after, "after": after}


def result(enforced: float, tracked: float) -> StudyResult:
    """Training changes the overclaimed bits of each episode from 3 to these."""
    start = {
        "columns": columns(debt_added=[3.0, 3.0]),
        "transcripts": [["a lab, before"], ["another, before"]],
    }
    arms = {("enforced", seed): arm([enforced, enforced], [1.0, 0.0]) for seed in SEEDS}
    arms |= {("tracked", seed): arm([tracked, tracked], [2.0, 2.0]) for seed in SEEDS}
    scripts = {name: columns() for name in SCRIPTS}
    return result_of({"enforced": start, "tracked": start}, arms, scripts, "a command")


def test_a_change_is_after_minus_before() -> None:
    changes = result(enforced=1.0, tracked=4.0).findings
    assert changes["enforced: overclaimed bits, after minus before"].value == -2.0
    assert changes["tracked: overclaimed bits, after minus before"].value == 1.0


@pytest.mark.parametrize(
    ("enforced", "tracked", "verdict"),
    [
        (1.0, 4.0, "confirmed"),
        (1.0, 2.0, "refuted"),
        (4.0, 4.0, "refuted"),
        (1.0, 3.0, "not shown"),
    ],
)
def test_the_claim_is_about_both_arms(enforced: float, tracked: float, verdict: str) -> None:
    assert result(enforced, tracked).verdict == verdict


def test_the_arms_are_compared_after_training() -> None:
    contrast = result(enforced=1.0, tracked=4.0).findings["enforced minus tracked: overclaimed bits, after"]
    assert (contrast.value, contrast.expected) == (-3.0, 0)


def test_the_transcripts_are_of_the_first_lab_that_was_overclaimed_in_before() -> None:
    start = {
        "columns": columns(debt_added=[0.0, 3.0]),
        "transcripts": [["a lab, before"], ["another, before"]],
    }
    arms = {(name, 0): arm([0.0, 0.0], [0.0, 0.0]) for name in ("enforced", "tracked")}
    assert transcripts({"enforced": start}, arms) == {
        "before": ["another, before"],
        "enforced": ["another lab"],
        "tracked": ["another lab"],
    }


def test_the_share_wrong_is_of_the_findings_that_were_accepted() -> None:
    means = result(enforced=1.0, tracked=4.0).means
    assert means["enforced, seed 0, after"]["share_wrong"].value == 0.25
    assert means["tracked, seed 1, after"]["share_wrong"].value == 1.0


def test_a_curve_is_the_mean_of_each_ten_steps() -> None:
    rows = [{"return": float(step)} for step in range(25)]
    assert smoothed(rows, "return").tolist() == [4.5, 14.5]


def test_each_training_is_a_line_and_each_script_a_level() -> None:
    for axes in drawn(result(enforced=1.0, tracked=4.0)).axes:
        assert len(axes.lines) == 2 * len(SEEDS) + len(SCRIPTS)
