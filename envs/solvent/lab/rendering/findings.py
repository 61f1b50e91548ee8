"""Findings that a gate has judged and readers have decided, as the record of a step reports them."""

from __future__ import annotations

from typing import Any, NamedTuple

from solvent.lab.actions import action_table
from solvent.lab.codes import VERDICTS, Verdict
from solvent.lab.mechanisms.adequacy import RULES
from solvent.lab.mechanisms.gate import MILLION
from solvent.lab.params import LabParams
from solvent.lab.verbs import Verb
from solvent.lab.words.notebook import weigh
from solvent.lab.words.rows import WORDINGS
from solvent.lab.words.sentences import policies_of, sentences_of


class JudgedFinding(NamedTuple):
    """A finding that was judged, and by what."""

    heartbeat: int  # in which it was submitted
    compound: int
    public: bool
    sentence: str
    wording: str
    energy: float
    number_missing: bool
    verdict: str
    policy: str
    tau_accept: float
    tau_review: float
    gate_verdict: str  # the gate's alone
    score: int  # of adequacy; -1 where it is not enabled
    rule: str  # of adequacy, ``definitive/thin``; empty where it is not enabled
    plates: int  # experiments on its compound when it was submitted
    decided_by: str  # as in ``notebook.Finding``

    @property
    def audience(self) -> str:
        """``publicly`` or ``privately``."""
        return "publicly" if self.public else "privately"


class Decision(NamedTuple):
    """A reader's decision on a finding under review."""

    heartbeat: int  # gone by when it was decided
    compound: int
    approved: bool
    wrong: bool  # only ever of one that was approved, and so published

    def word(self, wrong: str) -> str:
        """Return ``approved`` or ``declined``, followed by ``wrong`` where the finding is wrong."""
        return ("approved" if self.approved else "declined") + (wrong if self.wrong else "")


def judged_finding(params: LabParams, lab: Any, step: Any) -> JudgedFinding | None:
    """Return the finding that ``step`` judged, if it judged one; ``lab`` is the record that the step left."""
    if not params.gate.enabled or step["verdict"] == Verdict.NONE:
        return None
    row = action_table(params)[step["action"]]
    compound, wording = int(row["compound"]), int(step["wording"])
    policy = policies_of(params)[step["policy"]]
    gate, score, plates = int(step["gate_verdict"]), int(step["adequacy"]), int(lab["experiments"][compound])
    return JudgedFinding(
        heartbeat=int(step["heartbeat"]),
        compound=compound,
        public=row["verb"] == Verb.PUBLISH_PUBLIC,
        sentence=sentences_of(params).finding(compound, wording, int(step["asserted"])),
        wording=WORDINGS[wording],
        energy=int(step["residual"]) / MILLION,
        number_missing=bool(step["unsupported"]),
        verdict=VERDICTS[step["verdict"]],
        policy=policy.name,
        tau_accept=policy.tau_accept,
        tau_review=policy.tau_review,
        gate_verdict=VERDICTS[gate],
        score=score,
        rule=RULES[step["rule"]] if score >= 0 else "",
        plates=plates,
        decided_by=weigh(params, gate, score, plates).decided_by,
    )


def decisions(lab: Any, step: Any) -> list[Decision]:
    """Return the reviews that were decided as ``step`` closed its heartbeat."""
    approved, declined, now = int(step["approved"]), int(step["declined"]), int(lab["heartbeat"])
    wrong = lab["submitted_class"] != lab["potency"]
    return [
        Decision(now, m, bool(approved >> m & 1), bool(approved >> m & 1 and wrong[m]))
        for m in range(len(wrong))
        if (approved | declined) >> m & 1
    ]
