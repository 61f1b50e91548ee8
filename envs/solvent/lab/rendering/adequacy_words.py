"""Adequacy in words: a finding's words against the plates behind them, its score, and what the agent is told."""

from __future__ import annotations

from typing import Any, NamedTuple

from solvent.lab.codes import VERDICTS
from solvent.lab.mechanisms.adequacy import words_verdict
from solvent.lab.params import LabParams
from solvent.lab.rendering.said import Said
from solvent.lab.words.notebook import DECIDERS, plural
from solvent.lab.words.sentences import corrections_of

__all__ = [
    "Told",
    "alone",
    "by_whom",
    "corrected",
    "counts",
    "its_words",
    "scored",
    "strength",
    "told",
]

SMALL = ("no plate", "one plate", "two plates", "three plates", "four plates")


class Told(NamedTuple):
    """A correction in force."""

    text: str
    hours: int  # that it still holds, if nothing goes wrong again


def strength(rule: str) -> str:
    """How strong the words of a rule are: ``definitive``; ``no claim`` where nothing is asserted."""
    words, slash, _ = rule.partition("/")
    return words if slash else "no claim"


def scored(rule: str, plates: int, score: int) -> str:
    """A score and what it is made of: ``words definitive, 1 plate: score 2``."""
    return f"words {strength(rule)}, {plural(plates, 'plate')}: score {score}"


def its_words(rule: str, plates: int, score: int) -> str:
    """The same as half a sentence: ``its words are definitive, with one plate behind them (score 3)``."""
    behind = SMALL[plates] if plates < len(SMALL) else plural(plates, "plate")
    if "/" not in rule:
        return f"it claims nothing (score {score})"
    return f"its words are {strength(rule)}, with {behind} behind them (score {score})"


def by_whom(decided_by: str) -> str:
    """Who decided, after a verdict: `` by its words``; nothing for what was accepted."""
    return f" by {DECIDERS[decided_by]}" if decided_by else ""


def alone(params: LabParams, said: Said) -> str:
    """What gate and adequacy say by themselves, where that is not what holds: ``the gate: accept``."""
    each = (
        ("the gate", params.gate.enforced, said.gate_verdict),
        ("its words", params.adequacy.enforced, _by_score(params, said.score)),
    )
    others = [row for row in each if row[2] != said.verdict]
    parts = [f"{name}: {verdict}" for name, enforced, verdict in others if enforced]
    shadows = [f"{name} {verdict}" for name, enforced, verdict in others if not enforced]
    if shadows:
        parts.append(f"not enforced: {', '.join(shadows)}")
    return ", ".join(parts)


def _by_score(params: LabParams, score: int) -> str:
    rules = params.adequacy
    return VERDICTS[int(words_verdict(score, rules.review_from, rules.reject_from))]


def counts(lab: Any) -> str:
    """Findings so far by score: ``scores 0 to 3: 5, 2, 1, 0``."""
    return f"scores 0 to 3: {', '.join(str(count) for count in lab['scores'].tolist())}"


# -- corrections


def told(params: LabParams, lab: Any) -> Told | None:
    """The correction in force, if there is one."""
    if not params.adequacy.enabled or lab["correction"] < 0:
        return None
    left = max(0, params.gate.calm_heartbeats - int(lab["calm"]))
    return Told(corrections_of(params)[lab["correction"]].text, left)


def corrected(params: LabParams, lab: Any, step: Any) -> str:
    """What the agent is told after an error that a step published; empty where nothing is."""
    given = told(params, lab) if step["incident"] else None
    return f"You are told: {given.text}" if given else ""
