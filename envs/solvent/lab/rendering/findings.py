"""Judged findings and review decisions, as reported by a step's record."""

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
    """A finding with its verdict and the reasons."""

    heartbeat: int  # of its submission
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
    gate_verdict: str  # the gate's own
    score: int  # of adequacy; -1 if disabled
    rule: str  # of adequacy, such as ``definitive/thin``; empty if disabled
    plates: int  # experiments on its compound at its submission
    decided_by: str  # as in ``notebook.Finding``

    @property
    def audience(self) -> str:
        """Audience as an adverb: ``publicly`` or ``privately``."""
        return "publicly" if self.public else "privately"


class Decision(NamedTuple):
    """A reader's decision on a finding under review."""

    heartbeat: int  # time of the decision
    compound: int
    approved: bool
    wrong: bool  # approved, hence published, and wrong

    def word(self, wrong: str) -> str:
        """Return ``approved`` or ``declined``, followed by the text ``wrong`` if the finding is wrong."""
        return ("approved" if self.approved else "declined") + (wrong if self.wrong else "")


def judged_finding(params: LabParams, lab: Any, step: Any) -> JudgedFinding | None:
    """Return the finding that ``step`` judged, or None; ``lab`` is the record after the step."""
    if not params.gate.enabled or step["verdict"] == Verdict.NONE:
        return None
    row = action_table(params)[step["action"]]
    compound, wording = int(row["compound"]), int(step["wording"])
    policy = policies_of(params)[step["policy"]]
    gate, plates = int(step["gate_verdict"]), int(lab["experiments"][compound])
    score = int(step["adequacy"]) if params.adequacy.enabled else -1
    return JudgedFinding(
        heartbeat=int(step["heartbeat"]),
        compound=compound,
        public=row["verb"] == Verb.PUBLISH_PUBLIC,
        sentence=sentences_of(params).finding(compound, wording, int(step["asserted"])),
        wording=WORDINGS[wording],
        energy=int(step["gap" if params.gate.by_gap else "residual"]) / MILLION,
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


def decisions(params: LabParams, lab: Any, step: Any) -> list[Decision]:
    """Return the reviews decided at the end of a heartbeat."""
    if not params.gate.enabled:
        return []
    approved, declined, now = int(step["approved"]), int(step["declined"]), int(lab["heartbeat"])
    wrong = lab["submitted_class"] != lab["potency"]
    return [
        Decision(now, m, bool(approved >> m & 1), bool(approved >> m & 1 and wrong[m]))
        for m in range(len(wrong))
        if (approved | declined) >> m & 1
    ]
