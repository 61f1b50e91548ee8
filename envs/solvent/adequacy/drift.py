"""Drift: a rolling mean of EpAd at or above a threshold is an event, and the event chooses a correction.

    drift  where  mean(EpAd of the last `window` responses) >= threshold,
    at most once in `HORIZON` responses of an agent in a session

The event's rule is that of the worst score in the window (the latest of equals), its severity follows from the mean,
and both choose the correction, which incidents refine. Source: *Epistemic Adequacy Design*, phase 5.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from pydantic import BaseModel

from solvent.adequacy.records import Correction, Rater, ScoreRecord, correction_for
from solvent.files import RECORD, append_records, now, read_records

__all__ = ["HORIZON", "Drift", "DriftMonitor", "follow"]

HORIZON = 4
"""Responses after an event in which no other is set off."""


class Drift(BaseModel):
    """An event, a line of ``drifts.jsonl``; ``given``: the agent had been told a correction for its response."""

    model_config = RECORD

    agent: str
    session: str
    response: str
    mean: float
    severity: str
    rule: str
    correction: str
    text: str
    given: bool
    time: datetime


@dataclass
class DriftMonitor:
    """Follows agents by session and reports when one drifts.

    Attributes:
        window: responses in the rolling mean.
        threshold: mean EpAd from which on it is drift, severity low; medium from 2.0, high from 2.5.
        learned: the corrections that incidents refined.
        rater: whose scores count where no person scored; ``thresholds`` says which the labels favour.
        given: ``sha256`` of the responses after which the agent was told a correction.
    """

    window: int = 6
    threshold: float = 1.5
    learned: Sequence[Correction] = ()
    rater: Rater = "heuristic"
    given: Container[str] = ()
    _scores: dict[tuple[str, str], deque[tuple[int, str]]] = field(default_factory=dict, repr=False)
    _quiet: Counter[tuple[str, str]] = field(default_factory=Counter, repr=False)

    def observe(self, record: ScoreRecord) -> Drift | None:
        """Add a response and return the event that it sets off, or None; one that asserts nothing has no place."""
        where, epad = (record.agent, record.session), record.epad.in_force(self.rater)
        if epad is None:
            return None
        scores = self._scores.setdefault(where, deque(maxlen=self.window))
        scores.append((epad, record.rule))
        self._quiet[where] -= 1
        mean = sum(one for one, _ in scores) / self.window
        if self._quiet[where] >= 0 or len(scores) < self.window or mean < self.threshold:
            return None
        self._quiet[where] = HORIZON
        _, rule = max(reversed(scores), key=lambda one: one[0])
        severity = "high" if mean >= 2.5 else "medium" if mean >= 2.0 else "low"
        chosen = correction_for(severity, rule, self.learned)
        return Drift(
            agent=record.agent, session=record.session, response=record.id, mean=round(mean, 4), severity=severity,
            rule=rule, correction=chosen.id, text=chosen.text, given=record.sha256 in self.given, time=now(),
        )  # fmt: skip


def follow(monitor: DriftMonitor, records: Iterable[ScoreRecord], path: Path) -> list[Drift]:
    """Append the new events of some scores to ``path`` and return all of them.

    An event that the file holds is not set off again: it stays as it was logged.

    Raises:
        InputError: the file can't be read, or a line is not an event.
    """
    known = {one.response: one for one in read_records(path, Drift, missing_ok=True)}
    events = [event for record in records if (event := monitor.observe(record)) is not None]
    append_records(path, [one for one in events if one.response not in known])
    return [known.get(one.response, one) for one in events]
