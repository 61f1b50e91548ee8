"""Does an agent learn to calibrate when it is blocked?

This is the source's last open item: *agent learns to propose calibration when blocked (deadlock recovery)*. While PPO
trains from scratch, the study measures the share of calibrations among choices made with debt above the threshold. A
good policy is hardly ever blocked, so trained policies also play labs into which debt above the threshold is put when
the second reagent lot has 10, 6 and 3 heartbeats left. One arm *practises*: debt is put into its labs in training too.
Choices count as proposed, so a calibration that is refused for lack of wells is one.
"""

from __future__ import annotations

from collections.abc import Sequence

from solvent_experiments.folder import Columns, by_seed, select
from solvent_experiments.statistics import Sample, paired_share_difference
from solvent_experiments.studies.study import (
    DOCUMENT,
    ENFORCED,
    PPO,
    Arm,
    Compare,
    Finding,
    Play,
    Study,
    StudyData,
    learner,
)

MASKED = learner("masked", "masked", train={**PPO, "algorithm": "MaskablePPO"})
PRACTISED = learner("practised", "practised", train={**PPO, "debt_shocks": 0.01})
ARMS = {
    "unmasked (PPO)": ENFORCED,
    "masked (MaskablePPO)": MASKED,
    "the document's rules (PPO)": DOCUMENT,
    "practised (PPO)": PRACTISED,
}
ENOUGH = 0.8
"""The share of calibrations that the claim asks for where debt is put into a lab."""
EPISODES = 500
"""Of each play into which debt is put."""
HONEST = Play("honest_indebted", script="honest", record="indebted", episodes=EPISODES)


def indebted(arm: Arm) -> Play:
    """Return the play of an arm's policies in labs into which debt is put."""
    rules = arm.experiment
    return Play(
        f"{arm.name}_indebted", rules.params, rules.env, arm=arm, record="indebted", episodes=EPISODES
    )


def enough(label: str, play: Play) -> Compare:
    """Return by how much the share of calibrations while blocked exceeds ``ENOUGH``."""
    name = f"{label}: P(calibrate | blocked) with debt put into the lab, minus {ENOUGH:.0%}"
    over, unit = "blocked", "share of choices"
    return Compare(name, unit, play, "calibrations", over=over, expected=1, plus=-ENOUGH)


def growth(data: StudyData) -> Sequence[Finding]:
    """Return how much the share grows from the first to the last tenth of the training."""
    findings = []
    for label, arm in ARMS.items():
        training = data.training(arm)
        share = training["steps"] / max(1, int(training["steps"].max(initial=0)))
        first, last = (_calibrated(select(training, part)) for part in (share <= 0.1, share > 0.9))
        grown = paired_share_difference(first, last)
        findings.append(Finding(f"{label}: growth of P(calibrate | blocked)", grown, "share of choices", 1))
    return findings


def _calibrated(training: Columns) -> tuple[Sample, Sample]:
    """Return calibrations among the choices made while blocked, and these choices."""
    return by_seed(training, "over_threshold_calibrations"), by_seed(training, "over_threshold")


STUDY = Study(
    title="Calibrating when blocked",
    claim="Blocked by its debt, an agent learns to propose calibrations, without and with masked actions, by the "
    "document's own rules, and with practice: their share among its choices above the threshold rises from the first "
    "to the last tenth of training, and is at least 80 % when debt is put into its lab.",
    compares=(
        *(enough(label, indebted(arm)) for label, arm in ARMS.items()),
        Compare("practised minus unmasked: return with debt put into the lab", "bits", indebted(PRACTISED), "return",
                indebted(ENFORCED)),
        Compare("practised minus unmasked: return without", "bits", PRACTISED, "return", ENFORCED),
    ),
    rows={**{label: indebted(arm) for label, arm in ARMS.items()}, "honest script": HONEST},
    columns=("blocked", "calibrations", "calibrated", "first", "return"),
    more=growth,
    needs=tuple(ARMS.values()),
    notes=(
        "An untrained policy calibrates in 20 % of its choices, in 50 % of those that execute above the threshold.",
    ),
)  # fmt: skip
