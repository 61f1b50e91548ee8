"""Gate: effects of a stricter policy on publications and on their cost.

The level is ``Solvent/Gate-v0`` under each of the five policies, P30 (the laxest) to P1. PPO learns from nothing
under the laxest and the strictest policy. Two scripts play under all of them: the honest one, which predicts the gate's
verdict, and the overreacher, which claims one step more than it believes.
"""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from solvent.lab.mechanisms.governance import GATE_POLICIES
from solvent_experiments.figures.style import DASHED, PALETTE, new_figure
from solvent_experiments.measure.statistics import (
    interval,
    mean_interval,
    share_difference,
    share_interval,
)
from solvent_experiments.studies.arms import SCRATCH
from solvent_experiments.studies.data import StudyData
from solvent_experiments.studies.drawing import points
from solvent_experiments.studies.measures import change, shown
from solvent_experiments.studies.study import Arm, Play
from solvent_experiments.studies.verdicts import Finding, Score

TITLE = "How strict a gate"
CLAIM = (
    "The strictest gate lets out fewer findings, fewer wrong ones and a smaller share of wrong ones than the "
    "laxest, and lowers the return."
)
REFUTED_BY = (
    "One of these differences between P1 and P30, of PPO or of the honest script, whose interval lies wholly above"
    " 0."
)
GATE = "Solvent/Gate-v0"
SHORT = {policy: policy.removeprefix("adaptive.") for policy in GATE_POLICIES}
LEARNT = ("adaptive.P30", "adaptive.P1")
"""The policies under which PPO learns."""
ARMS = {
    policy: Arm(SHORT[policy], SHORT[policy], SCRATCH, GATE, {"gate": {"policy": policy}})
    for policy in LEARNT
}
SWEEP = tuple(ARMS.values())
SCRIPTS = ("honest", "overreacher")
PLAYS = tuple(
    Play(f"{script}_{SHORT[policy]}", {"gate": {"policy": policy}}, GATE, script=script, episodes=1000)
    for policy in (GATE_POLICIES[0], GATE_POLICIES[-1], *GATE_POLICIES[1:-1])
    for script in SCRIPTS
)
COLUMNS = {
    "return": ("bits", 0.25),
    "accepted": ("findings an episode", 0.25),
    "wrong": ("findings an episode", 0.1),
}
LAXEST, STRICTEST = GATE_POLICIES[0], GATE_POLICIES[-1]


def groups(data: StudyData, agent: str, policy: str, column: str) -> list[Any]:
    """Return a column of an agent under a policy by seed; empty if it has not played there."""
    if agent == "PPO":
        return data.arm(ARMS[policy]).groups(column) if policy in ARMS else []
    name = f"{agent}_{SHORT[policy]}"
    return data.play_groups(name, column) if name in data.plays else []


def score(data: StudyData) -> Score:
    """Return the strictest policy against the laxest, for PPO and the honest script."""
    findings = []
    ends = data.arm(ARMS[LAXEST]), data.arm(ARMS[STRICTEST])
    for column, (unit, matters) in COLUMNS.items():
        found = change(column, *ends, middle=column == "return")
        findings.append(Finding(f"PPO: {column}, P1 less P30", found, unit, -1, matters))
    findings.append(_share_of_wrong(data, "PPO", "PPO"))
    if all(groups(data, "honest", policy, "return") for policy in (LAXEST, STRICTEST)):
        for column, (unit, matters) in COLUMNS.items():
            (first,), (last,) = (groups(data, "honest", policy, column) for policy in (LAXEST, STRICTEST))
            name = f"honest script: {column}, P1 less P30, paired"
            findings.append(Finding(name, mean_interval([last - first]), unit, -1, matters))
        findings.append(_share_of_wrong(data, "honest", "honest script"))
    rows = [
        _row(data, agent, policy)
        for agent in ("PPO", *SCRIPTS)
        for policy in GATE_POLICIES
        if groups(data, agent, policy, "return")
    ]
    return Score(tuple(findings), {"Under each policy, means an episode": rows}, NOTES)


def _share_of_wrong(data: StudyData, agent: str, says: str) -> Finding:
    first, last = (
        (groups(data, agent, policy, "wrong"), groups(data, agent, policy, "accepted"))
        for policy in (LAXEST, STRICTEST)
    )
    found = share_difference(first, last, paired=False)
    return Finding(f"{says}: share of wrong findings, P1 less P30", found, "share", -1, 0.02)


def _row(data: StudyData, agent: str, policy: str) -> dict[str, Any]:
    def mine(column: str) -> list[Any]:
        return groups(data, agent, policy, column)

    return {
        "agent": agent,
        "policy": SHORT[policy],
        "return (IQM)": shown(interval(mine("return"))),
        "accepted": shown(mean_interval(mine("accepted"))),
        "wrong": shown(mean_interval(mine("wrong"))),
        "wrong of accepted (%)": shown(share_interval(mine("wrong"), mine("accepted")), 100.0, 1),
        "reviewed": shown(mean_interval(mine("verdicts_review"))),
        "rejected": shown(mean_interval(mine("verdicts_reject"))),
    }


NOTES = ("Intervals over few training seeds are coarse.",)


def figure(data: StudyData) -> Figure:
    """Draw returns, accepted findings and wrong findings under each policy."""
    drawn = new_figure(4.4)
    panels = drawn.subplots(3, 1, sharex=True)
    places = range(len(GATE_POLICIES))
    for axes, (column, (unit, _)) in zip(panels, COLUMNS.items(), strict=True):
        for i, agent in enumerate(("PPO", *SCRIPTS)):
            there = {x + 0.06 * (i - 1): groups(data, agent, GATE_POLICIES[x], column) for x in places}
            there = {x: values for x, values in there.items() if values}
            found = [(interval if column == "return" else mean_interval)(values) for values in there.values()]
            label = agent if axes is panels[0] else None
            points(axes, list(there), found, color=PALETTE[i], ls="-" if not i else DASHED, label=label)
        axes.set_ylabel(f"{column}\n({unit})" if column == "return" else f"{column} findings\nan episode")
    panels[-1].set_xticks(list(places), [SHORT[policy] for policy in GATE_POLICIES])
    panels[-1].set_xlabel("policy at the start: lax to strict")
    drawn.align_ylabels(panels)
    drawn.legend(loc="outside upper center", ncols=3)
    return drawn
