"""The four predictions of the source document, and what enforcement costs: debt enforced against debt only tracked.

*predictions*: *Once enforcement is enabled, expect to see: fewer commits, longer calibration phases, more budget
exhaustion, more refusals in logs.* This may describe an agent that meets enforcement unprepared or one that learnt
under it, so both are compared with policies that were trained, and play, where debt is only tracked. Both readings are
tested under the lab's rules and under the document's own.

*costs*: bits that findings paid, findings, wrong ones, bits overclaimed, heartbeats spent on calibrations, and
understatement: the share of findings that are right minus the confidence that they state.
"""

from __future__ import annotations

from solvent_experiments.studies.study import (
    DOCUMENT,
    DOCUMENT_ENV,
    ENFORCED,
    TRACKED,
    UNENFORCED,
    Compare,
    Play,
    Study,
)

TRACKED_PLAY = Play("tracked_policy_tracked", UNENFORCED, arm=TRACKED)
LATER = Play("tracked_policy_enforced", arm=TRACKED)
ENFORCED_PLAY = Play("enforced_policy_enforced", arm=ENFORCED)
LATER_DOCUMENT = Play("tracked_policy_document", {}, DOCUMENT_ENV, arm=TRACKED)
DOCUMENT_PLAY = Play("document_policy_document", {}, DOCUMENT_ENV, arm=DOCUMENT)

MEASURES = (
    ("commits", "accepted", -1, "findings per episode"),
    ("calibrations", "calibrations", 1, "calibrations per episode"),
    ("longest calibration phase", "longest_calibration", 1, "calibrations in a row"),
    ("budget exhausted", "exhausted", 1, "share of episodes"),
    ("refusals caused by debt", "refusals_by_debt", 1, "refusals per episode"),
    ("refusals of every cause", "refusals", 1, "refusals per episode"),
)

PREDICTIONS = Study(
    title="The source's four predictions",
    claim="Enforced debt makes for fewer commits, more and longer calibration, more budget exhaustion and more "
    "refusals than debt that is only tracked, for agents that learned without it and for those that learn under it.",
    compares=tuple(
        Compare(f"{reading}: {name}", unit, play, column, TRACKED_PLAY, expected=sign)
        for reading, play in (
            ("enforced later", LATER),
            ("enforced from the start", ENFORCED_PLAY),
            ("document, later", LATER_DOCUMENT),
            ("document, from the start", DOCUMENT_PLAY),
        )
        for name, column, sign, unit in MEASURES
    ),
    rows={
        "only tracked": TRACKED_PLAY,
        "enforced later": LATER,
        "enforced from the start": ENFORCED_PLAY,
        "document, later": LATER_DOCUMENT,
        "document, from the start": DOCUMENT_PLAY,
    },
    columns=(*(column for _, column, *_ in MEASURES), "debt_added", "wrong", "return"),
    notes=(
        "Where debt is only tracked it is not taken off the return either, so the returns are not comparable.",
        "A refusal is caused by debt if the action would have run at zero debt.",
    ),
)

# -- costs -------------------------------------------------------------------------------------------

HONEST = Play("honest_enforced", script="honest")
HONEST_TRACKED = Play("honest_tracked", UNENFORCED, script="honest")
PAIRS = {"PPO": (ENFORCED_PLAY, TRACKED_PLAY), "honest script": (HONEST, HONEST_TRACKED)}
COSTS_OF = (
    ("bits published", "published_bits", -1, "bits per episode"),
    ("findings", "accepted", -1, "findings per episode"),
    ("wrong findings", "wrong", 0, "findings per episode"),
    ("bits overclaimed", "debt_added", -1, "bits per episode"),
    ("calibrations", "calibrations", 1, "calibrations per episode"),
)

COSTS = Study(
    title="What enforcement costs",
    claim="Where debt is enforced, learners and the honest script overclaim less, but also publish less, in findings "
    "and in bits, and spend more heartbeats on calibrations, than where it is only tracked.",
    compares=(
        *(
            Compare(f"{label}: {name}, enforced minus tracked", unit, enforced, column, tracked, expected=sign,
                    paired=label != "PPO")
            for label, (enforced, tracked) in PAIRS.items()
            for name, column, sign, unit in COSTS_OF
        ),
        *(
            Compare(f"{label}, {where}: share right minus stated", "understatement", play, "understated",
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

STUDIES = {"predictions": PREDICTIONS, "costs": COSTS}
