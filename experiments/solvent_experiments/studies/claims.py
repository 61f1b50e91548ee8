"""Learnt claims: do gains reach them, and do they get more careful as debt rises?

Each claim is located in the distribution of the gain under the visible belief (``records``): its *quantile* is 0.5 for
a claim of the median. By the newsvendor's argument the best quantile falls as debt gets more expensive. A learner under
enforcement hardly ever has debt, so debt from 0 to 1.5 bits is also put into its labs. An agent in debt is later in its
episode and knows more, so the difference is also taken within strata of the same plate and a similar expected gain.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from solvent_experiments.folder import Columns, select
from solvent_experiments.statistics import Sample, difference, mean_interval
from solvent_experiments.studies.study import (
    DATA_ENFORCED,
    DATA_ENV,
    DATA_TRACKED,
    DOCUMENT,
    DOCUMENT_ENV,
    ENFORCED,
    TRACKED,
    UNENFORCED,
    Compare,
    Finding,
    Play,
    Study,
    StudyData,
)

ENFORCED_CLAIMS = Play("enforced", arm=ENFORCED, record="claims", episodes=200)
DOCUMENT_CLAIMS = Play("document", {}, DOCUMENT_ENV, arm=DOCUMENT, record="claims", episodes=200)
TRACKED_CLAIMS = Play("tracked", UNENFORCED, arm=TRACKED, record="claims", episodes=200)
DATA_CLAIMS = Play("data", {}, DATA_ENV, arm=DATA_ENFORCED, record="claims", episodes=200)
DATA_TRACKED_CLAIMS = Play(
    "data_tracked", UNENFORCED, DATA_ENV, arm=DATA_TRACKED, record="claims", episodes=200
)
HONEST_CLAIMS = Play("honest", script="honest", record="claims", episodes=200)
CLAIMS_IN_DEBT = Play("enforced_in_debt", arm=ENFORCED, record="claims_in_debt", episodes=500)
MUCH = 1.0
"""Bits of debt from which a claim counts as made in debt."""


def within_strata(columns: Columns) -> float:
    """Return the mean quantile in debt minus that without, by verb and expected gain; NaN without pairs."""
    stratum = columns["verb"] * 100 + np.floor(columns["expected"] / 0.15).astype(np.int64)
    total, weight = 0.0, 0
    for which in np.unique(stratum):
        rows = select(columns, stratum == which)
        none, much = rows["quantile"][rows["debt"] == 0], rows["quantile"][rows["debt"] > MUCH]
        least = min(len(none), len(much))
        if least:
            total, weight = total + least * float(much.mean() - none.mean()), weight + least
    return total / weight if weight else float("nan")


def in_debt(data: StudyData) -> Sequence[Finding]:
    """Return how the claimed quantile changes with debt, plainly and within strata."""
    columns = data.columns(CLAIMS_IN_DEBT)
    seeds = [
        select(columns, columns["training_seed"] == seed) for seed in np.unique(columns["training_seed"])
    ]
    pairs = [(seed["quantile"][seed["debt"] == 0], seed["quantile"][seed["debt"] > MUCH]) for seed in seeds]
    pairs = [pair for pair in pairs if all(map(len, pair))]
    strata = [value for seed in seeds if not np.isnan(value := within_strata(seed))]
    findings = []
    if pairs:
        none, much = (Sample(groups, trained=True) for groups in zip(*pairs, strict=True))
        falls = difference(none, much)
        findings.append(Finding("debt put in: quantile above 1 bit minus none", falls, "of the gain", -1))
    if strata:
        same = mean_interval(Sample([[value] for value in strata], trained=True))
        findings.append(Finding("debt put in: the same, by plate and expected gain", same, "of the gain", -1))
    return findings


STUDY = Study(
    title="Learnt claims, and what they are worth as debt rises",
    claim="Where debt is enforced a learner claims a lower quantile of what it can expect than where debt is only "
    "tracked, and, with debt put into its labs, a lower one the more debt it has.",
    compares=(
        Compare("PPO: quantile claimed, enforced minus tracked", "of the gain", ENFORCED_CLAIMS, "quantile",
                TRACKED_CLAIMS, expected=-1),
        Compare("PPO: quantile claimed, the document's rules minus tracked", "of the gain", DOCUMENT_CLAIMS, "quantile",
                TRACKED_CLAIMS, expected=-1),
        Compare("PPO, Data: quantile claimed, enforced minus tracked", "of the gain", DATA_CLAIMS, "quantile",
                DATA_TRACKED_CLAIMS),
        Compare("PPO, enforced: claimed", "bits per claim", ENFORCED_CLAIMS, "claim"),
        Compare("PPO, enforced: gained", "bits per claim", ENFORCED_CLAIMS, "gain"),
    ),
    rows={"PPO, enforced": ENFORCED_CLAIMS, "PPO, debt put in": CLAIMS_IN_DEBT,
          "PPO, the document's rules": DOCUMENT_CLAIMS, "PPO, only tracked": TRACKED_CLAIMS,
          "PPO, Data": DATA_CLAIMS, "PPO, Data, only tracked": DATA_TRACKED_CLAIMS,
          "honest script": HONEST_CLAIMS},
    columns=("claim", "expected", "gain", "quantile"),
    more=in_debt,
    notes=(
        "Forecasts play the plate at 64 points of the exact belief: quantiles are steps of 1 / 64.",
    ),
)  # fmt: skip
