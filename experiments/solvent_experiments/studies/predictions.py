"""The four predictions of the source document: debt enforced, against debt that is only tracked.

*Once enforcement is enabled, expect to see: fewer commits, longer calibration phases, more budget exhaustion, more
refusals in logs.* This may describe an agent that meets enforcement unprepared or one that learnt under it, so both are
compared with policies that were trained, and play, where debt is only tracked. Both readings are tested under the lab's
rules and, without interest, under the document's own.
"""

from __future__ import annotations

from solvent_experiments.studies.study import (
    DOCUMENT,
    ENFORCED,
    NO_INTEREST,
    TRACKED,
    UNENFORCED,
    Compare,
    Play,
    Study,
)

ALONE = Play("tracked_policy_tracked", UNENFORCED, arm=TRACKED)
MET = Play("tracked_policy_enforced", arm=TRACKED)
LEARNT = Play("enforced_policy_enforced", arm=ENFORCED)
MET_DOCUMENT = Play("tracked_policy_document", NO_INTEREST, arm=TRACKED)
LEARNT_DOCUMENT = Play("document_policy_document", NO_INTEREST, arm=DOCUMENT)

MEASURES = (
    ("commits", "accepted", -1, "findings per episode"),
    ("calibrations", "calibrations", 1, "calibrations per episode"),
    ("longest calibration phase", "longest_calibration", 1, "calibrations in a row"),
    ("budget exhausted", "exhausted", 1, "share of episodes"),
    ("refusals caused by debt", "refusals_by_debt", 1, "refusals per episode"),
    ("refusals of every cause", "refusals", 1, "refusals per episode"),
)

STUDY = Study(
    title="The source's four predictions",
    claim="Enforced debt makes for fewer commits, more and longer calibration, more budget exhaustion and more "
    "refusals than debt that is only tracked, both for agents that meet it and for agents that learn under it.",
    compares=tuple(
        Compare(f"{reading}: {name}", unit, play, column, ALONE, expected=sign)
        for reading, play in (
            ("met", MET),
            ("learnt", LEARNT),
            ("met, document", MET_DOCUMENT),
            ("learnt, document", LEARNT_DOCUMENT),
        )
        for name, column, sign, unit in MEASURES
    ),
    rows={
        "tracked, its own rules": ALONE,
        "tracked, meets enforcement": MET,
        "enforced": LEARNT,
        "tracked, meets the document's rules": MET_DOCUMENT,
        "the document's rules": LEARNT_DOCUMENT,
    },
    columns=(*(column for _, column, *_ in MEASURES), "debt_added", "wrong", "return"),
    notes=(
        "Where debt is only tracked it is not settled either, so the returns are not comparable.",
        "A refusal is caused by debt if the action would have run at zero debt.",
    ),
)
