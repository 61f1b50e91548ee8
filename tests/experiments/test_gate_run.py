"""Figures of labs in which a gate judges findings; ``tests/contracts`` has what holds of every run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from solvent import LabParams, preset
from solvent.lab.words.measured import SHIPPED, load_measured, save_measured
from solvent.lab.words.sentences import policies_of
from solvent_experiments.artifacts.joining import judged_by
from solvent_experiments.artifacts.parquet import select
from solvent_experiments.figures import FIGURES
from solvent_experiments.figures.data import RunData
from solvent_experiments.figures.strictness import _in_force
from solvent_experiments.figures.verdicts import VERDICT_COLOURS
from solvent_experiments.measure.statistics import share_interval
from tests.runs import RESTLESS, Levels, drawn, words

OF_GATE = ("verdict_curve", "verdicts", "finding_energies", "strictness", "lab_domain")


@pytest.fixture
def run(levels: Levels) -> RunData:
    return levels("smoke_gate").run


@pytest.fixture
def full_run(levels: Levels) -> RunData:
    return levels("smoke_gate").eventful_run


def of_colour(figure: Figure, colour: str) -> list[Rectangle]:
    """The bars of a colour that are in axes."""
    bars = (patch for axes in figure.axes for patch in axes.patches if isinstance(patch, Rectangle))
    return [bar for bar in bars if to_hex(bar.get_facecolor()) == colour.lower()]


def test_figures_name_agents_units_and_colours(full_run: RunData) -> None:
    shown = {name: words(drawn(name, full_run)) for name in OF_GATE}
    for name in ("verdicts", "finding_energies", "strictness"):
        for agent in ("honest", "random", "premature", RESTLESS):
            assert agent in shown[name], (name, agent)
    for name in ("verdict_curve", "verdicts", "finding_energies", "lab_domain"):
        for verdict in ("accepted", "sent to review", "rejected"):
            assert verdict in shown[name], (name, verdict)
    assert "training steps" in shown["verdict_curve"]
    assert f"{RESTLESS}: 2 training seeds" in shown["verdict_curve"]
    assert "heartbeat (hours)" in shown["strictness"]
    assert "P30 (start)" in shown["strictness"]
    for policy in policies_of(full_run.params):
        assert policy.name.split(".")[1] in shown["lab_domain"]


def test_bars_are_the_shares_of_the_verdicts(full_run: RunData) -> None:
    figure = drawn("verdicts", full_run)
    for name, colour in VERDICT_COLOURS.items():
        for agent, bar in zip(full_run.agents[::-1], of_colour(figure, colour), strict=True):
            mine = full_run.episodes["agent"] == agent
            share = (
                full_run.episodes[f"verdicts_{name}"][mine].sum() / full_run.episodes["verdicts"][mine].sum()
            )
            assert bar.get_width() == pytest.approx(share), (agent, name)


def test_every_logged_finding_is_in_the_histograms(full_run: RunData) -> None:
    """Accepted ones to the left of the threshold in force, rejected ones to the right of that of a review."""
    assert full_run.findings is not None
    figure = drawn("finding_energies", full_run)
    for name, colour in VERDICT_COLOURS.items():
        bars = [bar for bar in of_colour(figure, colour) if bar.get_height() > 0]
        assert sum(bar.get_height() for bar in bars) == (full_run.findings["verdict"] == name).sum()
        if name == "accept":
            assert max(bar.get_x() for bar in bars) <= 1
        if name == "reject":
            assert min(bar.get_x() + bar.get_width() for bar in bars) >= 1.25


def test_shares_of_policies_are_of_the_episodes_that_run() -> None:
    traces = {
        "heartbeat": np.array([0, 1, 2, 3, 0, 1]),
        "strictness": np.array([1, 2, 2, 2, 1, 1]),
    }
    shares = _in_force(traces, 3)
    np.testing.assert_array_equal(shares[1], [1.0, 0.0, 0.0])
    np.testing.assert_array_equal(shares[2], [0.0, 0.5, 0.5])
    # With several actions a heartbeat the policy is that at its start.
    several = {
        "step": np.array([0, 1, 2, 3]),
        "heartbeat": np.array([0, 0, 1, 1]),
        "strictness": np.array([1, 2, 2, 3]),
    }
    np.testing.assert_array_equal(_in_force(several, 3).argmax(axis=0), [1, 0, 0])


def test_shares_count_findings_and_not_episodes() -> None:
    share = share_interval([[1, 0], [9]], [[1, 10], [9]])
    assert share.value == pytest.approx(0.5)
    assert share.low <= share.value <= share.high
    assert np.isnan(share_interval([[0]], [[0]]).value)


def test_figures_of_nothing_say_so(full_run: RunData) -> None:
    """An agent that publishes nothing."""
    assert full_run.training is not None
    quiet = replace(
        full_run,
        episodes={
            name: np.zeros_like(column) if name.startswith(("verdicts", "incid", "tight")) else column
            for name, column in full_run.episodes.items()
        },
        training={
            name: np.zeros_like(column) if name.startswith(("verdicts", "incid")) else column
            for name, column in full_run.training.items()
        },
        findings=select(full_run.findings or {}, np.zeros(0, np.int64)),
        traces=select(full_run.traces, full_run.traces["heartbeat"] < 0),
    )
    assert "none" in words(drawn("verdicts", quiet))
    drawn("verdict_curve", quiet)
    assert FIGURES["finding_energies"](quiet) is None
    assert FIGURES["strictness"](quiet) is None


def test_what_the_gate_judged_by_is_kept(run: RunData) -> None:
    assert run.gate is not None
    policies = policies_of(run.params)
    assert run.gate["thresholds"] == {p.name: [p.tau_accept, p.tau_review] for p in policies}
    assert list(run.gate["domain"]["held_out"]) == [policy.name for policy in policies]


@pytest.mark.parametrize("policy", ["fixed.strict", "adaptive.P20", "oracle.k2"])
def test_the_thresholds_are_those_of_the_family_in_force(policy: str) -> None:
    params: LabParams = LabParams.from_mapping(
        {"gate": {"oracle": "first", "policy": policy}}, base=preset("gate")
    )
    assert judged_by(params)["thresholds"] == {
        p.name: [p.tau_accept, p.tau_review] for p in policies_of(params)
    }
    assert f"{policy}.v1" in judged_by(params)["thresholds"]


def test_tables_of_ones_own_have_a_domain_of_their_own(run: RunData, tmp_path: Path) -> None:
    share = {kind: {"accept": 0.5, "review": 0.0, "reject": 0.5} for kind in ("right", "wrong")}
    shares: dict[str, Any] = dict.fromkeys(("adaptive.P30.v1", "adaptive.P20.v1"), share)
    report = {"thresholds": shares, "held_out": shares, "held_out_by_residual_alone": shares}
    shipped = load_measured()
    save_measured(tmp_path / SHIPPED.name, replace(shipped, about=shipped.about | {"domain": report}))
    own: LabParams = LabParams.from_mapping(
        {"gate": {"tables": str(tmp_path / SHIPPED.name)}}, base=run.params
    )
    assert judged_by(own)["domain"] == report != judged_by(run.params)["domain"]
    assert FIGURES["lab_domain"](replace(run, gate=judged_by(own) | {"domain": None})) is None
    bars = of_colour(drawn("lab_domain", run), VERDICT_COLOURS["accept"])
    figure = drawn("lab_domain", replace(run, gate=judged_by(own)))
    others = of_colour(figure, VERDICT_COLOURS["accept"])
    assert len(bars) == 4 * 2 * 5
    assert [bar.get_width() for bar in others] == [0.5] * 2 * 2 * 2
