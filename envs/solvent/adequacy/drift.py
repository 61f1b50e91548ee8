"""Drift: a rolling mean of EpAd at or above a threshold is an event, and the event chooses a correction.

    drift  where  mean(EpAd of the last `window` responses) >= threshold,
    at most once in `horizon` responses of an agent in a session

The event's rule is that of the worst score in the window (the latest of equals), its severity follows from the mean,
and both choose the correction, which incidents refine. Source: *Epistemic Adequacy Design*, phase 5.

Known approximation: scores that set off an event are high partly by chance and fall by themselves, so the mean after an
event is not the effect of the correction.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from pydantic import BaseModel

from solvent.adequacy.records import Correction, ScoreRecord, correction_for
from solvent.files import RECORD, append_records, now, read_records

__all__ = ["Drift", "DriftMonitor", "follow"]


class Drift(BaseModel):
    """An event, a line of ``drifts.jsonl``; ``given``: the agent was told the correction."""

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


class _Track:
    """The latest scores of one agent in one session, and for how many responses no event is set off."""

    def __init__(self, window: int) -> None:
        self.scores: deque[tuple[int, str]] = deque(maxlen=window)
        self.quiet = 0


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
    _tracks: dict[tuple[str, str], _Track] = field(default_factory=dict, repr=False)

    def observe(self, record: ScoreRecord) -> Drift | None:
        """Add a response and return the event that it sets off, or None."""
        where, epad = (record.agent, record.session), record.epad.in_force
        track = self._tracks.setdefault(where, _Track(self.window))
        if epad is None:
            return None
        track.scores.append((epad, record.rule))
        track.quiet -= 1
        mean = sum(one for one, _ in track.scores) / self.window
        if track.quiet >= 0 or len(track.scores) < self.window or mean < self.threshold:
            return None
        track.quiet = self.horizon
        _, rule = max(reversed(track.scores), key=lambda one: one[0])
        severity = "high" if mean >= 2.5 else "medium" if mean >= 2.0 else "low"
        chosen = correction_for(severity, rule, self.learned)
        return Drift(
            agent=record.agent, session=record.session, response=record.id, mean=round(mean, 4), severity=severity,
            rule=rule, correction=chosen.id, text=chosen.text, given=not self.shadow, time=now(),
        )  # fmt: skip


def follow(
    monitor: DriftMonitor, records: Sequence[ScoreRecord], path: Path
) -> list[tuple[Drift, float | None]]:
    """Append the new events of some scores to ``path`` and return all of them, with the mean EpAd after each.

    An event that the file holds is not set off again: it stays as it was logged.

    Raises:
        InputError: the file can't be read, or a line is not an event.
    """
    known = {one.response: one for one in read_records(path, Drift)} if path.exists() else {}
    events = [event for record in records if (event := monitor.observe(record)) is not None]
    append_records(path, [one for one in events if one.response not in known])
    found = []
    for event in (known.get(one.response, one) for one in events):
        session = [one for one in records if (one.agent, one.session) == (event.agent, event.session)]
        at = next(i for i, one in enumerate(session) if one.id == event.response)
        after = [one.epad.in_force or 0 for one in session[at + 1 : at + 1 + monitor.horizon]]
        found.append((event, sum(after) / len(after) if after else None))
    return found
