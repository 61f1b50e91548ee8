"""Learnt claims: are they borne out, and do they get more careful as debt rises?

Each claim is located in the distribution of the gain under the visible belief (``records``): its *quantile* is 0.5 for
a claim of the median. By the newsvendor's argument the best quantile falls as debt gets dearer, which it does towards
the threshold. But an agent in debt is also later in its episode and knows more. So the study also takes the difference
within strata of the same plate and a similar expected gain, each weighted by the smaller of its two counts.

A learner under enforcement hardly ever has debt. So debt from 0 to 1.5 bits is also put into its labs, in turn, a third
into each reagent lot (``records.claims_in_debt``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from solvent_experiments.artifacts.parquet import Columns, select
from solvent_experiments.figures.style import DASHED, GREY, PALETTE, new_figure
from solvent_experiments.measure.statistics import Interval, difference, mean_interval, stratified_bootstrap
from solvent_experiments.studies.arms import CONTAMINATED, ENFORCED
from solvent_experiments.studies.data import StudyData
from solvent_experiments.studies.drawing import points
from solvent_experiments.studies.measures import shown
from solvent_experiments.studies.study import Play
from solvent_experiments.studies.verdicts import Finding, Score

TITLE = "Learnt claims, and what they are worth as debt rises"
CLAIM = (
    "Where debt is enforced a learner claims a lower quantile of what it can expect than where debt is only "
    "tracked, and, with debt put into its labs, a lower one the more debt it has."
)
REFUTED_BY = "One of these differences whose interval lies wholly above 0."

SWEEP = (ENFORCED, CONTAMINATED)
PLAYS = (
    Play("enforced", arm=ENFORCED, record="claims", episodes=200),
    Play("contaminated", CONTAMINATED.params, arm=CONTAMINATED, record="claims", episodes=200),
    Play("honest", script="honest", record="claims", episodes=200),
    Play("enforced_in_debt", arm=ENFORCED, record="claims_in_debt", episodes=500),
)
SAYS = {
    "enforced": "PPO, enforced",
    "enforced_in_debt": "PPO, enforced, debt put in",
    "contaminated": "PPO, only tracked",
    "honest": "honest script",
}
EDGES = (0.0, 1e-9, 0.5, 1.0, 1.5, 2.0 + 1e-9)
"""Edges of the bins of debt, in bits; the first bin holds no debt at all."""
BINS = ("none", "to 0.5", "to 1", "to 1.5", "to 2")
FEW = 50
NOTHING = Interval(float("nan"), float("nan"), float("nan"))
Choice = Callable[[NDArray[np.float64]], NDArray[np.bool_]]


def binned(debt: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the bin of each debt; ``len(BINS)`` above the last edge."""
    found: NDArray[np.int64] = np.searchsorted(EDGES[1:], debt, side="left")
    return found


def within_strata(columns: Columns, name: str) -> float:
    """Return a column's mean above 1 bit of debt minus that without, by verb and expected gain; NaN without pairs."""
    place = binned(columns["debt"])
    stratum = columns["verb"] * 100 + np.floor(columns["expected"] / 0.15).astype(np.int64)
    total, weight = 0.0, 0.0
    for which in np.unique(stratum):
        mine = stratum == which
        none, much = columns[name][mine & (place == 0)], columns[name][mine & (place >= 3)]
        least = min(len(none), len(much))
        if least:
            total += least * float(much.mean() - none.mean())
            weight += least
    return total / weight if weight else float("nan")


def grouped(columns: Columns, parts: int = 20) -> list[Columns]:
    """Return the rows by training seed; those of a script in ``parts`` groups of episodes, which stand in for seeds."""
    seeds = columns["training_seed"]
    label = seeds if len(np.unique(seeds)) > 1 else columns["episode_seed"] % parts
    return [select(columns, label == group) for group in np.unique(label)]


def between(groups: Sequence[Columns], name: str, less: Choice, more: Choice) -> Interval:
    """Return a column's mean at the debts that ``more`` chooses minus that at those that ``less`` chooses."""
    chosen = [[values for g in groups if len(values := g[name][of(g["debt"])])] for of in (less, more)]
    return difference(*chosen) if all(chosen) else NOTHING


def falling_within_strata(groups: Sequence[Columns], name: str) -> Interval:
    """Return the mean of ``within_strata`` over the groups."""
    values = [value for value in (within_strata(group, name) for group in groups) if not np.isnan(value)]
    return stratified_bootstrap(values, lambda draw: float(draw.mean())) if len(values) > 1 else NOTHING


def score(data: StudyData) -> Score:
    """Return how bold the claims are and how they change with debt."""
    groups = {name: grouped(data.plays[name]) for name in SAYS}
    enforced, put, tracked = (groups[name] for name in ("enforced", "enforced_in_debt", "contaminated"))
    falls = between(put, "quantile", lambda debt: binned(debt) == 0, lambda debt: binned(debt) >= 3)
    # An agent that learned to rest makes no claim.
    bolder = excess = NOTHING
    if tracked and enforced:
        bolder = difference([g["quantile"] for g in tracked], [g["quantile"] for g in enforced])
        excess = mean_interval([g["claim"] - g["gain"] for g in enforced])
    within = falling_within_strata(put, "quantile")
    findings = [
        Finding("PPO: quantile claimed, enforced less only tracked", bolder, "of the gain", -1, 0.05),
        Finding("PPO, debt put in: quantile, above 1 bit less none", falls, "of the gain", -1, 0.05),
        Finding("PPO, debt put in: the same, by plate and expected gain", within, "of the gain", -1, 0.05),
        Finding("PPO, enforced: claimed less gained", excess, "bits a claim", 0, 0.05),
    ]
    rows = [row for name, of in groups.items() for row in _rows(SAYS[name], of)]
    return Score(tuple(findings), {"By debt when the claim was made": rows}, NOTES)


def in_bin(groups: Sequence[Columns], place: int) -> list[Columns]:
    """Return the rows in a bin of debt by group; none if there are fewer than ``FEW``."""
    mine = [select(g, binned(g["debt"]) == place) for g in groups]
    mine = [g for g in mine if len(g["debt"])]
    return mine if sum(len(g["debt"]) for g in mine) >= FEW else []


def _rows(says: str, groups: Sequence[Columns]) -> list[Mapping[str, Any]]:
    rows: list[Mapping[str, Any]] = []
    for place, bits in enumerate(BINS):
        if mine := in_bin(groups, place):
            count = sum(len(g["debt"]) for g in mine)
            row: dict[str, Any] = {"agent": says, "debt (bits)": bits, "claims": count}
            for name in ("claim", "expected", "gain", "quantile"):
                row[name] = shown(mean_interval([g[name] for g in mine]))
            row["claims nothing (%)"] = shown(mean_interval([g["claim"] == 0 for g in mine]), 100.0, 1)
            rows.append(row)
    return rows


NOTES = (
    (
        "The forecast takes compounds and instrument as independent within a lot, and draws a dose response at"
        " 64 points: quantiles are approximate. The honest script claims the highest level at or below its "
        "median, so its own quantile here is what the vocabulary makes of 0.5."
    ),
    (
        "A learner that overclaims on plates that teach little, or underclaims on those that teach much, has "
        "the same mean as a calibrated one; the table has means only."
    ),
    "With debt only tracked nothing forbids a plate above 2 bits; such claims are left out of the table.",
)


def figure(data: StudyData) -> Figure:
    """Draw the claimed quantile, and claims against gains, by debt."""
    drawn = new_figure(4.6)
    panels: Sequence[Any] = drawn.subplots(2, 1)
    for i, (name, says) in enumerate(SAYS.items()):
        groups = grouped(data.plays[name])
        bins = {place + 0.07 * (i - 2): mine for place in range(len(BINS)) if (mine := in_bin(groups, place))}
        quantiles = [mean_interval([g["quantile"] for g in mine]) for mine in bins.values()]
        excess = [mean_interval([g["claim"] - g["gain"] for g in mine]) for mine in bins.values()]
        style = {"color": PALETTE[i], "ls": DASHED if name == "enforced_in_debt" else "-"}
        points(panels[0], list(bins), quantiles, label=says, **style)
        points(panels[1], list(bins), excess, **style)
    panels[0].axhline(0.5, color=GREY, lw=0.8, ls=DASHED)
    panels[0].set_ylim(0, 1)
    panels[0].set_ylabel("quantile claimed")
    panels[1].axhline(0, color=GREY, lw=0.8)
    panels[1].set_ylabel("claimed less gained\n(bits a claim)")
    for axes in panels:
        axes.set_xticks(range(len(BINS)), BINS)
    panels[1].set_xlabel("debt when the claim was made (bits)")
    drawn.align_ylabels(panels)
    drawn.legend(loc="outside lower center", ncols=2)
    return drawn
