"""What enforcement costs, and what it brings.

Debt enforced against debt that is only tracked, on ``Solvent/Debt-v0``: bits that findings paid, findings, wrong ones,
bits overclaimed, heartbeats spent on calibrations, and understatement: the share of findings that are right less the
confidence that they state.
"""

from __future__ import annotations

from solvent_experiments.studies.predictions import ALONE, LEARNT
from solvent_experiments.studies.study import UNENFORCED, Compare, Play, Study

HONEST = Play("honest_enforced", script="honest")
HONEST_TRACKED = Play("honest_tracked", UNENFORCED, script="honest")
PAIRS = {"PPO": (LEARNT, ALONE), "honest script": (HONEST, HONEST_TRACKED)}
MEASURES = (
    ("bits published", "published_bits", -1, "bits per episode"),
    ("findings", "accepted", -1, "findings per episode"),
    ("wrong findings", "wrong", 0, "findings per episode"),
    ("bits overclaimed", "debt_added", -1, "bits per episode"),
    ("calibrations", "calibrations", 1, "calibrations per episode"),
)

STUDY = Study(
    title="What enforcement costs",
    claim="Where debt is enforced, learners and the honest script overclaim less, but also publish less, in findings "
    "and in bits, and spend more heartbeats on calibrations, than where it is only tracked.",
    compares=(
        *(
            Compare(f"{label}: {name}, enforced less tracked", unit, enforced, column, tracked, expected=sign,
                    paired=label != "PPO")
            for label, (enforced, tracked) in PAIRS.items()
            for name, column, sign, unit in MEASURES
        ),
        *(
            Compare(f"{label}, {where}: share right less stated", "understatement", play, "understated",
                    over="accepted")
            for label, pair in PAIRS.items()
            for where, play in zip(("enforced", "tracked"), pair, strict=True)
        ),
    ),
    rows={f"{label}, {where}": play for label, pair in PAIRS.items()
          for where, play in zip(("enforced", "only tracked"), pair, strict=True)},
    columns=("published_bits", "accepted", "wrong", "stated", "debt_added", "calibrations", "refusals_by_debt"),
    notes=("Stated: the sum of the confidences of an episode's findings.",),
)  # fmt: skip
