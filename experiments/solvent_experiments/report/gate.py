"""The gate's part of a frame: sentence, evidence, verdict and its reason."""

from __future__ import annotations

from typing import Any

from solvent import LabParams
from solvent.lab.rendering.findings import JudgedFinding, judged_finding
from solvent.lab.rendering.panels.adequacy import alone, by_whom, correction_in_force, counts, scored
from solvent.lab.rendering.panels.gate import deserved, governed, pending, policy_in_force, policy_word, tally
from solvent.lab.words.notebook import NO_PLATE, rows_of
from solvent.lab.words.sentences import sentences_of

__all__ = ["Spans", "finding_at_the_gate", "gate_state", "notebook_page"]


class Spans:
    """A list of evidence sentences without repetition. Frames refer to them by number."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number(self, sentence: str) -> int:
        """Return the number of a sentence; add the sentence if it is new."""
        return self._numbers.setdefault(sentence, len(self._numbers))

    @property
    def sentences(self) -> list[str]:
        return list(self._numbers)


def notebook_page(params: LabParams, lab: Any, compound: int, spans: Spans) -> dict[str, Any]:
    """Return a compound's page, fits before readouts as in the notebook; empty if it has no evidence."""
    if compound < 0 or not (evidence := _evidence(params, lab, compound, spans)):
        return {}
    return {"compound": compound, "evidence": evidence}


def _evidence(params: LabParams, lab: Any, compound: int, spans: Spans) -> list[int]:
    sentences, rows = sentences_of(params).spans[compound], rows_of(params, lab, compound)
    fits = int(lab["fit_strength"][compound]) + 1 if rows else 0
    return [spans.number(sentences[row]) for row in rows[::-1][:fits] + rows[: len(rows) - fits]]


def finding_at_the_gate(params: LabParams, lab: Any, step: Any, spans: Spans) -> dict[str, Any]:
    """Return the finding judged in this step: its sentence, evidence, residual, verdict and reason."""
    finding = judged_finding(params, lab, step)
    if finding is None:
        return {}
    shown = {
        "sentence": finding.sentence,
        "wording": finding.wording,
        "evidence": _evidence(params, lab, finding.compound, spans),
        "verdict": finding.verdict,
        "gate_verdict": finding.gate_verdict,
        "policy": policy_word(finding.policy),
        "energy": round(finding.energy, 4),
        "limits": [round(finding.tau_accept, 4), round(finding.tau_review, 4)],
        "why": deserved(params, finding),
        "number_missing": finding.number_missing,
    }
    if params.adequacy.enabled and finding.decided_by != NO_PLATE:
        shown |= _adequacy(params, finding)
    return shown


def _adequacy(params: LabParams, finding: JudgedFinding) -> dict[str, Any]:
    """Return the score of the words; if gate and adequacy differ, also the one that decided."""
    return {
        "score": finding.score,
        "scored": scored(finding.rule, finding.plates, finding.score),
        "decided": by_whom(finding.decided_by).strip(),
        "alone": alone(params, finding),
    }


def gate_state(params: LabParams, lab: Any) -> dict[str, Any]:
    """Return the policy in force and its governance, pending reviews, and the correction in force."""
    state: dict[str, Any] = {
        "policy": policy_in_force(params, lab),
        "tally": tally(lab),
        "governed": governed(params, lab),
        "waiting": ", ".join(pending(params, lab)),
    }
    if params.adequacy.enabled:
        now = correction_in_force(params, lab)
        state["scores"] = counts(lab)
        state["correction"] = [now.text, now.hours] if now else None
    return state
