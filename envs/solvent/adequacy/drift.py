"""Drift: a rolling mean of EpAd at or above a threshold is an event, and the event chooses a correction.

    drift  where  mean(EpAd of the last `window` responses) >= threshold,
    at most once in `horizon` responses of an agent in a session

The event's rule is that of the worst score in the window (the latest of equals), its severity follows from the mean, and
both choose the correction, which incidents refine. Source: *Epistemic Adequacy Design*, phase 5.

Known approximation: scores that set off an event are high partly by chance and fall by themselves, so the mean after an
event is no effect of the correction.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from pydantic import BaseModel

from solvent.adequacy.records import Correction, ScoreRecord, correction_for
from solvent.files import RECORD

__all__ = ["Drift", "DriftMonitor"]


class Drift(BaseModel):
    """An event, a line of ``drifts.jsonl``; ``position`` counts the session's responses from 0."""

    model_config = RECORD

    agent: str
    session: str
    response: str
    position: int
    mean: float
    severity: str
    rule: str
    correction: str
    text: str
    given: bool


@dataclass
class DriftMonitor:
    """Follows agents by session and reports when one drifts.

    Attributes:
        window: responses in the rolling mean.
        threshold: mean EpAd from which on it is drift, severity low; medium from 2.0, high from 2.5.
        horizon: responses after an event in which no other is set off.
        shadow: only log: the correction is not given.
        learned: the corrections that incidents refined.
    """

    window: int = 6
    threshold: float = 1.5
    horizon: int = 4
    shadow: bool = True
    learned: Sequence[Correction] = ()
    _tracks: dict[tuple[str, str], tuple[deque[tuple[int, str]], list[int]]] = field(
        default_factory=dict, repr=False
    )

    def observe(self, record: ScoreRecord) -> Drift | None:
        """Add a response and return the event that it sets off, or None."""
        epad = record.epad.in_force
        if epad is None:
            return None
        scores, state = self._tracks.setdefault(
            (record.agent, record.session), (deque(maxlen=self.window), [-1, 0])
        )
        scores.append((epad, record.rule))
        state[0] += 1
        state[1] = max(0, state[1] - 1)
        mean = sum(one for one, _ in scores) / self.window
        if state[1] or len(scores) < self.window or mean < self.threshold:
            return None
        state[1] = self.horizon + 1
        rule = max(enumerate(scores), key=lambda one: (one[1][0], one[0]))[1][1]
        severity = "high" if mean >= 2.5 else "medium" if mean >= 2.0 else "low"
        chosen = correction_for(severity, rule, self.learned)
        return Drift(
            agent=record.agent,
            session=record.session,
            response=record.id,
            position=state[0],
            mean=round(mean, 4),
            severity=severity,
            rule=rule,
            correction=chosen.id,
            text=chosen.text,
            given=not self.shadow,
        )

    def observe_all(self, records: Iterable[ScoreRecord]) -> list[Drift]:
        """Return the events of some records, in order."""
        return [event for record in records if (event := self.observe(record)) is not None]
