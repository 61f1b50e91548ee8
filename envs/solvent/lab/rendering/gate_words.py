"""The gate in words: the verdict on a finding and why, what readers decided, the policy in force.

Where the words of findings are held against evidence too, the verdict is the more severe of both, and says whose it is.
"""

from __future__ import annotations

from typing import Any

from solvent.lab.codes import Event
from solvent.lab.params import LabParams
from solvent.lab.rendering.adequacy_words import by_whom, corrected, its_words
from solvent.lab.rendering.said import Said, said_in, was_judged
from solvent.lab.words.notebook import NO_PLATE, UNWEIGHED, Finding
from solvent.lab.words.sentences import policies_of

__all__ = [
    "VERDICT_WORDS",
    "because",
    "deserved",
    "governed",
    "judged",
    "pending",
    "policy_word",
    "tally",
    "what_readers_decided",
    "would_be",
]

VERDICT_WORDS = {"accept": "accepted", "review": "under review", "reject": "rejected"}


def policy_word(name: str) -> str:
    """``adaptive.P20.v1`` as ``P20``."""
    return name.split(".")[1] if name.count(".") > 1 else name


def because(energy: float, verdict: str, tau_accept: float, tau_review: float, missing: bool) -> str:
    """Why a finding got its verdict: ``energy 0.053, at most 0.067``."""
    if verdict == "accept":
        return f"energy {energy:.3f}, at most {tau_accept:.3f}"
    elif verdict == "reject":
        return f"energy {energy:.3f}, above {tau_review:.3f}"
    elif missing and energy <= tau_accept:
        return f"energy {energy:.3f}, but its number stands nowhere on the page"
    return f"energy {energy:.3f}, between {tau_accept:.3f} and {tau_review:.3f}"


def deserved(params: LabParams, said: Said) -> str:
    """What the gate made of the finding, and why."""
    if said.decided_by == NO_PLATE:
        return "no experiment was run on it"
    why = because(said.energy, said.gate_verdict, said.tau_accept, said.tau_review, said.number_missing)
    return why if params.gate.enforced else f"{why}, not enforced"


def would_be(finding: Finding) -> str:
    """What would become of a finding now: ``accept, energy 0.053``.

    Where words are held against evidence: ``review by its words, score 2, energy 0.053``.
    """
    lacking = finding.number_missing and finding.gate_verdict == "review"
    energy = f"energy {finding.energy:.3f}"
    if finding.adequacy == UNWEIGHED:
        shadow = f" (the gate: {finding.gate_verdict})" if finding.gate_verdict != finding.verdict else ""
        missing = ", its number stands nowhere on the page" if lacking else ""
        return f"{finding.verdict}{shadow}, {energy}{missing}"
    missing = ", number missing" if lacking else ""
    by = by_whom(finding.decided_by)
    return f"{finding.verdict}{by}, score {finding.adequacy}, {energy}{missing}"


# -- the last action


def judged(params: LabParams, lab: Any, step: Any) -> str:
    """The verdict on the finding of a step, without its last full stop; empty where none was judged."""
    if not was_judged(step):
        return ""
    said = said_in(params, lab, step)
    if step["event"] == Event.SUBMITTED:
        return f"Under review for {params.gate.review_heartbeats} h: {_reasons(params, said)}"
    return f"{VERDICT_WORDS[said.verdict].capitalize()}: {_reasons(params, said)}"


def _reasons(params: LabParams, said: Said) -> str:
    """Why, with what decided first."""
    gate = f"{deserved(params, said)} ({policy_word(said.policy)})"
    if said.score < 0 or said.decided_by == NO_PLATE:
        return gate
    words = its_words(said.rule, said.plates, said.score)
    if said.decided_by == "adequacy":
        return words
    if said.decided_by == "both":
        return f"{gate}, and {words}"
    shadow = "" if params.adequacy.enforced else ", not enforced"
    return f"{gate}, words score {said.score}{shadow}"


def what_readers_decided(params: LabParams, lab: Any, step: Any) -> list[str]:
    """Reviews that fell as the heartbeat closed, and a policy that changed."""
    said = []
    for compound, name in enumerate(params.assay.compounds):
        if int(step["approved"]) >> compound & 1:
            wrong = lab["submitted_class"][compound] != lab["potency"][compound]
            said.append(f"The reader approved {name}, which is {'wrong' if wrong else 'right'}.")
        elif int(step["declined"]) >> compound & 1:
            said.append(f"The reader declined {name}: not licensed.")
    if step["approved"]:
        said.append(f"Paid: {step['decided_bits']:+.2f} bits.".replace("-", "−"))
    return said + _policy_changed(params, lab, step)


def _policy_changed(params: LabParams, lab: Any, step: Any) -> list[str]:
    """A published error tightens the gate; it relaxes as a heartbeat closes, and begins to count anew."""
    told = corrected(params, lab, step)
    if not params.gate.governance:
        return [f"A published error. {told}"] if told else []
    now = policy_word(policies_of(params)[lab["strictness"]].name)
    if step["incident"]:
        return [f"A published error: the gate is at {now}.", *([told] if told else [])]
    relaxed = step["closed"] and lab["calm"] == 0 and lab["heartbeat"] >= params.gate.calm_heartbeats
    return [f"The gate relaxes to {now}."] if relaxed else []


# -- how it stands


def tally(lab: Any) -> str:
    """Findings so far: ``3 accepted, 1 reviewed, 2 rejected``."""
    counts = zip(lab["verdicts"].tolist(), ("accepted", "reviewed", "rejected"), strict=True)
    return ", ".join(f"{count} {word}" for count, word in counts)


def governed(params: LabParams, lab: Any, start: int) -> str:
    """What governance has done and will do; ``start`` is the level at the start."""
    errors = int(lab["incidents"][1])
    said = f"{errors} published error{'s' if errors != 1 else ''}"
    if not params.gate.governance:
        return f"{said}; the policy stays"
    elif lab["strictness"] > start:
        return f"{said}; relaxes in {max(0, params.gate.calm_heartbeats - int(lab['calm']))} h"
    return f"{said}; the next one tightens it"


def pending(params: LabParams, lab: Any) -> list[str]:
    """Findings under review, the next decision first: ``CCCP in 1 h``."""
    due = sorted(
        (int(at) - int(lab["heartbeat"]), name)
        for at, name in zip(lab["decision_at"], params.assay.compounds, strict=True)
        if at
    )
    return [f"{name} in {hours} h" for hours, name in due]
