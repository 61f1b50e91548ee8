"""Drift: a rolling mean of EpAd above a threshold is an event, and the event chooses a correction.

    drift  where  mean(EpAd of the last `window` responses) >= threshold,
    at most once in `horizon` responses of an agent in a session

An event's *kind* is the heuristic's rule with the worst score in the window (the latest of equals); its severity comes
from the mean. Both select the correction among those not retired (``corrections``).

The effect of a correction can only be judged against events without it, because scores that set off an event are high
partly by chance and fall by themselves. So each correction is *withheld* with probability ``withhold``, by a draw that
depends only on the seed, the agent, the session and the number of the event; ``fitness`` compares. Shadow mode gives no
correction and draws nothing. Source: "Epistemic Adequacy Design", phase 5.

Known approximation: the window has a sharp edge, and the first response that leaves it may end a drift. A level that
shifts within a window is detected up to ``window`` responses late.
"""

from __future__ import annotations

import hashlib
import os
from collections import deque
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, get_type_hints

import numpy as np

from solvent.adequacy.corrections import Correction, CorrectionTable, cell_of, kind_of, load_corrections
from solvent.adequacy.errors import AdequacyError
from solvent.adequacy.heuristic import CLAIM_CONTRADICTED
from solvent.adequacy.jsonl import append_lines, read_lines
from solvent.adequacy.scores import ScoreRecord

__all__ = ["Drift", "DriftMonitor", "DriftRules", "append_drifts", "read_drifts"]

_WORST = 3


@dataclass(frozen=True)
class DriftRules:
    """The rules of an event.

    Attributes:
        window: responses in the rolling mean.
        threshold: mean EpAd at which a drift begins; its severity is ``low``.
        medium: mean EpAd at which the severity becomes ``medium``.
        high: mean EpAd at which the severity becomes ``high``.
        horizon: responses after an event in which its correction is judged and no other event is set off.
        withhold: probability that a correction is withheld, 0 to 0.5.
        shadow: log events and give no correction.
        seed: seed of the withholding draws.

    Raises:
        AdequacyError: a value is out of its range.
    """

    window: int = 6
    threshold: float = 1.5
    medium: float = 2.0
    high: float = 2.5
    horizon: int = 4
    withhold: float = 0.0
    shadow: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("window", "horizon"):
            value = getattr(self, name)
            if type(value) is not int or not 1 <= value <= 1000:
                raise AdequacyError(f"{name}: got {value!r:.80}; allowed: a whole number from 1 to 1000")
        if not 0.0 < self.threshold <= self.medium <= self.high <= _WORST:
            got = f"{self.threshold!r:.40}, {self.medium!r:.40}, {self.high!r:.40}"
            raise AdequacyError(f"threshold, medium, high: got {got}; allowed: rising, above 0, at most 3")
        if not 0.0 <= self.withhold <= 0.5:
            raise AdequacyError(f"withhold: got {self.withhold!r:.80}; allowed: a probability from 0 to 0.5")
        if type(self.seed) is not int or self.seed < 0:
            raise AdequacyError(f"seed: got {self.seed!r:.80}; allowed: a whole number, 0 or more")

    def severity(self, mean: float) -> str:
        """Return the severity of a drift with this mean."""
        return "high" if mean >= self.high else "medium" if mean >= self.medium else "low"


@dataclass(frozen=True)
class Drift:
    """An event: the window's mean reached the threshold.

    Attributes:
        agent, session: the agent and session that drifted.
        position: index of the response that set it off, in this agent's session, from 0.
        before: sum of EpAd over the window.
        window: responses in the window.
        severity, kind: the key of the correction.
        correction: id of the correction.
        given: the agent received the correction.
        randomised: a draw decided whether to give it.
    """

    agent: str
    session: str
    position: int
    before: int
    window: int
    severity: str
    kind: str
    correction: str
    given: bool
    randomised: bool

    @property
    def mean(self) -> float:
        """Mean EpAd of the window, 0 to 3."""
        return self.before / self.window


@dataclass
class _Track:
    """The latest scores of one agent in one session."""

    scores: deque[tuple[int, str]]
    position: int = -1
    quiet: int = 0
    events: int = 0


@dataclass
class DriftMonitor:
    """Follows agents by session and reports when one drifts.

    Args:
        rules: the rules of an event.
        table: the corrections; None: the shipped ones.
        retired: ids of corrections that a person has retired (``decisions``).

    Raises:
        AdequacyError: the default row is retired, or without the retired rows two others tie.
    """

    rules: DriftRules = field(default_factory=DriftRules)
    table: CorrectionTable | None = None
    retired: Collection[str] = ()

    def __post_init__(self) -> None:
        whole = load_corrections() if self.table is None else self.table
        self._table = whole.without(self.retired)
        self._tracks: dict[tuple[str, str], _Track] = {}

    def observe(self, agent: str, session: str, epad: int, rule: str) -> Drift | None:
        """Add a response and return the event that it sets off, or None.

        Raises:
            AdequacyError: the score is not 0 to 3, or the rule is unknown.
        """
        if isinstance(epad, bool) or epad not in range(_WORST + 1):
            raise AdequacyError(f"epad: got {epad!r:.80}; allowed: 0, 1, 2, 3")
        cell_of(rule)  # refuses an unknown rule before it enters the window
        track = self._tracks.setdefault((agent, session), _Track(deque(maxlen=self.rules.window)))
        track.scores.append((int(epad), rule))
        track.position += 1
        if track.quiet > 0:
            track.quiet -= 1
            return None
        total = sum(score for score, _ in track.scores)
        full = len(track.scores) == self.rules.window
        if not full or total < self.rules.threshold * self.rules.window:
            return None
        return self._event(agent, session, track, total)

    def observe_records(self, records: Iterable[ScoreRecord]) -> list[Drift]:
        """Return the events of some records, in order. A person's score precedes the judge's, that the heuristic's.

        Raises:
            AdequacyError: a record has no score.
        """
        found = []
        for record in records:
            scored = record.epad.in_force
            if scored is None:
                raise AdequacyError(f"record {record.id!r:.80}: got no EpAd; allowed: one at least")
            kind = kind_of(record.rule, contradicted=CLAIM_CONTRADICTED in record.signals)
            event = self.observe(record.agent or "", record.session or "", scored, kind)
            found += [] if event is None else [event]
        return found

    def text(self, drift: Drift) -> str | None:
        """Return the text of an event's correction; None if it was withheld or in shadow mode."""
        return self._table[drift.correction].text if drift.given else None

    def _event(self, agent: str, session: str, track: _Track, total: int) -> Drift:
        rules = self.rules
        severity = rules.severity(total / rules.window)
        _, _, kind = max((score, i, rule) for i, (score, rule) in enumerate(track.scores))
        correction: Correction = self._table.find(severity, kind)
        randomised = rules.withhold > 0.0 and not rules.shadow
        given = not rules.shadow
        if randomised:
            given = _uniform(rules.seed, agent, session, track.events) >= rules.withhold
        track.events += 1
        track.quiet = rules.horizon
        where = (agent, session, track.position, total, rules.window)
        return Drift(*where, severity, kind, correction.id, given, randomised)


def _uniform(seed: int, agent: str, session: str, event: int) -> float:
    """Return a uniform draw for this event, independent of other agents and of order."""
    text = repr((agent, session, event)).encode("utf-8", "surrogatepass")
    words = np.frombuffer(hashlib.sha256(text).digest(), dtype="<u4")
    return float(np.random.default_rng([seed, *words.tolist()]).random())


def append_drifts(path: str | os.PathLike[str], drifts: Iterable[Drift]) -> int:
    """Append events to ``path``, each whole, and return their number.

    Raises:
        AdequacyError: the file can't be written to the end of a line.
    """
    return append_lines(path, [asdict(drift) for drift in drifts])


def read_drifts(path: str | os.PathLike[str]) -> list[Drift]:
    """Return the events of ``path`` in order.

    Raises:
        AdequacyError: the file can't be read, or a line is not an event; the message has its number.
    """
    return [_drift(place, fields) for place, fields in read_lines(path, appended=True)]


_KINDS = get_type_hints(Drift)


def _drift(place: str, fields: Mapping[str, Any]) -> Drift:
    if set(fields) != set(_KINDS):
        raise AdequacyError(f"{place}: got {', '.join(fields)!r:.80}; allowed: {', '.join(_KINDS)}")
    for name, kind in _KINDS.items():
        value = fields[name]
        if type(value) is not kind or (isinstance(value, int) and value < 0):
            raise AdequacyError(f"{place}: {name}: got {value!r:.80}; allowed: {kind.__name__}, not negative")
    if not 0 < fields["window"] <= 1000 or fields["before"] > _WORST * fields["window"]:
        got = f"{fields['before']}, {fields['window']}"
        raise AdequacyError(
            f"{place}: before, window: got {got}; allowed: a sum of EpAd over 1 to 1000 responses"
        )
    return Drift(**fields)
