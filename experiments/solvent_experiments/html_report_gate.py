"""Frames where a gate judges findings: words, the page they are held against, the verdict and what decided it."""

from __future__ import annotations

from typing import Any

from solvent import LabParams
from solvent.lab.mechanisms.governance import GATE_POLICIES
from solvent.lab.rendering.adequacy_words import alone, by_whom, counts, scored, told
from solvent.lab.rendering.gate_words import deserved, governed, pending, policy_word, tally
from solvent.lab.rendering.said import Said, said_in, was_judged
from solvent.lab.words.notebook import NO_PLATE, rows_of
from solvent.lab.words.sentences import policies_of, sentences_of

__all__ = ["Spans", "finding_at_the_gate", "gate_state", "notebook_page"]


class Spans:
    """Every sentence of evidence once; frames have its number."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number(self, sentence: str) -> int:
        """The sentence's number, a new one where it is new."""
        return self._numbers.setdefault(sentence, len(self._numbers))

    @property
    def sentences(self) -> list[str]:
        """All sentences, by number."""
        return list(self._numbers)


def notebook_page(params: LabParams, lab: Any, compound: int, spans: Spans) -> dict[str, Any]:
    """The page of a compound, fits before readouts as the notebook has them; empty where nothing stands."""
    if compound < 0 or not (evidence := _evidence(params, lab, compound, spans)):
        return {}
    return {"compound": compound, "evidence": evidence}


def _evidence(params: LabParams, lab: Any, compound: int, spans: Spans) -> list[int]:
    sentences, rows = sentences_of(params).spans[compound], rows_of(params, lab, compound)
    fits = int(lab["fit_strength"][compound]) + 1 if rows else 0
    return [spans.number(sentences[row]) for row in rows[::-1][:fits] + rows[: len(rows) - fits]]


def finding_at_the_gate(params: LabParams, lab: Any, step: Any, spans: Spans) -> dict[str, Any]:
    """Of a finding that was judged in this step: its sentence, its evidence, its residual and why the verdict."""
    if not was_judged(step):
        return {}
    said = said_in(params, lab, step)
    shown = {
        "sentence": said.sentence,
        "wording": said.wording,
        "evidence": _evidence(params, lab, said.compound, spans),
        "verdict": said.verdict,
        "gate_verdict": said.gate_verdict,
        "policy": policy_word(said.policy),
        "energy": round(said.energy, 4),
        "limits": [round(said.tau_accept, 4), round(said.tau_review, 4)],
        "why": deserved(params, said),
        "number_missing": said.number_missing,
    }
    if params.adequacy.enabled and said.decided_by != NO_PLATE:
        shown |= _adequacy(params, said)
    return shown


def _adequacy(params: LabParams, said: Said) -> dict[str, Any]:
    """The score of its words, and who decided where the two don't say the same."""
    return {
        "score": said.score,
        "scored": scored(said.rule, said.plates, said.score),
        "decided": by_whom(said.decided_by).strip(),
        "alone": alone(params, said),
    }


def gate_state(params: LabParams, lab: Any) -> dict[str, Any]:
    """The policy in force, what governs it, what waits for a reader, and the correction in force."""
    level = int(lab["strictness"])
    start = GATE_POLICIES.index(params.gate.policy)
    state: dict[str, Any] = {
        "policy": policy_word(policies_of(params)[level].name),
        "tally": tally(lab),
        "governed": governed(params, lab, start),
        "waiting": ", ".join(pending(params, lab)),
    }
    if params.adequacy.enabled:
        now = told(params, lab)
        state["scores"] = counts(lab)
        state["correction"] = [now.text, now.hours] if now else None
    return state
