"""Tool-use patterns that precede failures, counted over scored responses and weighted by severity.

A response failed if an incident names it or a person labelled it 2 or 3. A pattern is the whole sequence of its tools
("only Grep") or one or two calls in a row ("Grep, Read"), each with or without "then a strong negative". With weights
``w`` (failures: low 1, medium 2, high 4; else 1) over the responses that show it

    rate = sum(w, failed) / sum(w)

A pattern over the source's 70 % whose exact lower bound, corrected for the number of patterns tried, is above 50 % and
above the share of all failures is a candidate; a person may accept it as a trigger of the heuristic. Source: *Epistemic
Adequacy Design*, "Integration with FMEA skill".

Known approximation: responses count as independent. To precede a failure is not to cause it.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from pydantic import BaseModel

from solvent.adequacy.calls import Call
from solvent.adequacy.formats import Turn
from solvent.adequacy.heuristic import CUTS, Adequacy, score
from solvent.adequacy.records import Incident, ScoreRecord
from solvent.files import RECORD, now, read_records

__all__ = [
    "RATE", "TRIGGERS", "Pattern", "Trigger", "accepted", "find_patterns", "patterns_of", "score_turn", "triggered",
    "triggers_beside",
]  # fmt: skip

TRIGGERS = "triggers.jsonl"
"""File of the accepted triggers, beside the scores."""
RATE = 0.70
"""The source's failure rate of a trigger."""
WEIGHTS = {"low": 1.0, "medium": 2.0, "high": 4.0}
FAILED_FROM = 2
FEWEST_RESPONSES, FLOOR, ALPHA = 10, 0.5, 0.05
"""Fewest responses of a pattern, and what the lower bound must exceed, at which error over all patterns."""


@dataclass(frozen=True)
class Pattern:
    """A pattern and its record: responses that show it, failures among them, weighted rate and its lower bound."""

    text: str
    count: int
    failures: int
    rate: float
    bound: float
    candidate: bool


class Trigger(BaseModel):
    """A pattern that a person accepted, a line of ``triggers.jsonl``."""

    model_config = RECORD

    pattern: str
    by: str
    reason: str
    time: datetime


def patterns_of(tools: Sequence[str], *, negative: bool) -> set[str]:
    """Return the patterns that a response with these calls shows."""
    patterns = {f"only {', '.join(tools)}" if tools else "no call"} if len(tools) <= 2 else set()
    patterns |= set(tools) | {f"{first}, {second}" for first, second in itertools.pairwise(tools)}
    return patterns | ({f"{one}, then a strong negative" for one in patterns} if negative else set())


def find_patterns(records: Iterable[ScoreRecord], incidents: Iterable[Incident]) -> list[Pattern]:
    """Return the patterns that at least ``FEWEST_RESPONSES`` show, the highest lower bound first."""
    cases, share = _counted(records, incidents)
    tried = {text: rows for text, rows in cases.items() if len(rows) >= FEWEST_RESPONSES}
    patterns = [
        _measured(text, rows, error=ALPHA / len(tried), floor=max(FLOOR, share))
        for text, rows in tried.items()
    ]
    return sorted(patterns, key=lambda pattern: (-pattern.bound, -pattern.rate, pattern.text))


def _counted(
    records: Iterable[ScoreRecord], incidents: Iterable[Incident]
) -> tuple[dict[str, list[tuple[float, bool]]], float]:
    """Return weight and outcome (failed or not) of the responses that show a pattern, and the share of all failures."""
    worst: dict[str, float] = defaultdict(float)
    for incident in incidents:
        worst[incident.id] = max(worst[incident.id], WEIGHTS[incident.level])
    cases: dict[str, list[tuple[float, bool]]] = defaultdict(list)
    outcomes = []
    for record in records:
        failed = record.id in worst or (record.epad.human or 0) >= FAILED_FROM
        outcomes.append(failed)
        context = record.tool_context
        for pattern in patterns_of(context.tool_types, negative=context.has_strong_negative):
            cases[pattern].append((worst.get(record.id, 1.0), failed))
    return cases, sum(outcomes) / max(1, len(outcomes))


def _measured(text: str, rows: Sequence[tuple[float, bool]], *, error: float, floor: float) -> Pattern:
    """Return a pattern's record: a candidate has a high rate, and its lower bound at this error is above the floor."""
    from scipy.special import betaincinv

    weight = sum(w for w, _ in rows)
    rate = sum(w for w, failed in rows if failed) / weight
    effective = weight**2 / sum(w * w for w, _ in rows)
    hits = rate * effective
    bound = float(betaincinv(hits, effective - hits + 1.0, error)) if hits else 0.0
    failures = sum(failed for _, failed in rows)
    return Pattern(text, len(rows), failures, rate, bound, candidate=rate > RATE and bound > floor)


def accepted(patterns: Iterable[Pattern], name: str, by: str, reason: str) -> Trigger:
    """Return a candidate as a trigger.

    Raises:
        ValueError: it isn't a candidate, or nobody says who and why.
    """
    candidates = [pattern.text for pattern in patterns if pattern.candidate]
    if name not in candidates or not by or not reason:
        allowed = "; ".join(candidates) or "none, there is no candidate"
        raise ValueError(f"accept: got {name!r:.80} by {by!r:.40}; allowed, with who and why: {allowed}")
    return Trigger(pattern=name, by=by, reason=reason, time=now())


def triggered(triggers: Iterable[Trigger], calls: Sequence[Call], adequacy: Adequacy) -> Adequacy:
    """Return the score of a response; a claim that shows an accepted pattern scores 2 at least and asks for a judge."""
    own = patterns_of([call.name for call in calls], negative=adequacy.strong_negative)
    fired = tuple(f"trigger: {one.pattern}" for one in triggers if one.pattern in own)
    if not fired or adequacy.rule == "nothing_asserted" or adequacy.rule.startswith("hedged"):
        return adequacy
    raised = max(FAILED_FROM, adequacy.score)
    return replace(adequacy, score=raised, signals=adequacy.signals + fired)


def triggers_beside(scores: Path) -> list[Trigger]:
    """Return the triggers in the folder of a file of scores."""
    return list(read_records(scores.with_name(TRIGGERS), Trigger, missing_ok=True))


def score_turn(turn: Turn, triggers: Iterable[Trigger] = (), cuts: tuple[int, int] = CUTS) -> Adequacy:
    """Return the score of a turn under accepted triggers and limits of evidence."""
    adequacy = score(turn.response, turn.calls, turn.query, earlier=turn.earlier, cuts=cuts)
    return triggered(triggers, turn.calls, adequacy)
