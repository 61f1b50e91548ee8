"""What was said at the gate and what readers decided, as a viewer remembers it: a record holds the last step only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from solvent.lab.actions import action_table
from solvent.lab.codes import VERDICTS, Verdict
from solvent.lab.mechanisms.adequacy import RULES
from solvent.lab.mechanisms.gate import MILLION
from solvent.lab.params import LabParams
from solvent.lab.verbs import Verb
from solvent.lab.words.notebook import weigh
from solvent.lab.words.rows import WORDINGS
from solvent.lab.words.sentences import policies_of, sentences_of

if TYPE_CHECKING:
    from solvent.lab.rendering.history import History

__all__ = ["Decision", "Said", "hear", "said_in", "was_judged"]


class Said(NamedTuple):
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
    plates: int  # experiments on its compound, when it was submitted
    decided_by: str  # as in ``notebook.Finding``


class Decision(NamedTuple):
    """How a reader decided a finding that was under review."""

    heartbeat: int  # gone by when it was decided
    compound: int
    approved: bool
    wrong: bool  # only ever of one that was approved, and so published


def was_judged(step: Any) -> bool:
    """Whether a finding was held against its page in this step."""
    return bool(step["verdict"] != Verdict.NONE)


def hear(params: LabParams, history: History, lab: Any, step: Any) -> None:
    """Remember what a step that has just happened said and what its end decided."""
    if was_judged(step):
        history.said = said_in(params, lab, step)
    now = int(lab["heartbeat"])
    for compound in range(len(params.assay.compounds)):
        approved = bool(int(step["approved"]) >> compound & 1)
        if approved or int(step["declined"]) >> compound & 1:
            wrong = approved and bool(lab["submitted_class"][compound] != lab["potency"][compound])
            decision = Decision(now, compound, approved, wrong)
            if decision not in history.decisions:
                history.decisions.append(decision)


def said_in(params: LabParams, lab: Any, step: Any) -> Said:
    """The finding of a step in which one was judged; ``lab`` is the record that the step left."""
    row = action_table(params)[step["action"]]
    compound, wording = int(row["compound"]), int(step["wording"])
    policy = policies_of(params)[step["policy"]]
    gate, score, plates = int(step["gate_verdict"]), int(step["adequacy"]), int(lab["experiments"][compound])
    return Said(
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
