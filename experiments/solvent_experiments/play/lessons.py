"""When each rule is told: once, when it first matters. The sentences are those of the system prompt."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from solvent.lab.codes import Event, Obstacle, Refusal
from solvent.lab.params import LabParams
from solvent.lab.rendering.history import is_fresh
from solvent.lab.rendering.panels.energy import presence
from solvent.lab.rendering.words import lot_hours
from solvent_agents.language.prompt import rules

__all__ = ["LESSONS", "OPENING", "Lessons", "Moment"]

OPENING = ("task", "score")
"""Topics that are told before the first action."""

LIKELY = 0.5
"""Probability of a class from which a finding on its compound comes into question."""

AWAY = "the user is away"


class Moment(NamedTuple):
    """A lab after an action."""

    params: LabParams
    lab: Any
    step: Any  # the record of the action; None before the first

    @property
    def event(self) -> Event:
        return Event(int(self.lab["last_event"]))

    def has(self, name: str) -> bool:
        """Whether a field of the step's record is there and not 0."""
        return self.step is not None and name in self.step.dtype.names and bool(self.step[name])


def _starts(now: Moment) -> bool:
    return now.step is None


def _explored(now: Moment) -> bool:
    return now.event is Event.EXPLORED


def _owes(now: Moment) -> bool:
    return bool(now.lab["debt"] > 0.0)


def _could_publish(now: Moment) -> bool:
    plates = now.lab["experiments"] > 0
    likely = plates & (now.lab["published"] == 0) & (now.lab["marginal"].max(axis=1) >= LIKELY)
    return bool(likely.any()) or now.event in (Event.PUBLISHED, Event.REJECTED, Event.SUBMITTED)


def _put_off(now: Moment) -> bool:
    return now.event in (Event.DEFERRED, Event.REFLECTED)


def _new_lot(now: Moment) -> bool:
    first = int(now.lab["heartbeat"]) > 0 and not now.lab["slot"]
    return now.event is Event.CALIBRATED or (
        first and lot_hours(now.params, now.lab) == now.params.assay.lot_heartbeats
    )


def _user_is_away(now: Moment) -> bool:
    return now.has("obstacle") and Obstacle(int(now.step["obstacle"])) is Obstacle.CONTEXT_NOT_ALLOWED


LESSONS: Mapping[str, Callable[[Moment], bool]] = MappingProxyType(
    {
        "claim": _starts,
        "tracked": _starts,
        "energy": _starts,
        "refusal": lambda now: now.event is Event.REFUSED,
        "reserve": lambda now: (
            now.has("refusal") and now.step["refusal"] == Refusal.INSUFFICIENT_BUDGET_FOR_EPISTEMIC_RECOVERY
        ),
        "threshold": lambda now: bool(now.lab["debt"] > 0.5 * now.params.debt.threshold),
        "bankruptcy": lambda now: bool(now.lab["debt"] > now.params.debt.threshold),
        "governance": lambda now: now.has("incident"),
        "correction": lambda now: now.has("incident"),
        "presence": lambda now: _user_is_away(now) or presence(now.params, now.lab).startswith(AWAY),
        "late": lambda now: "; late" in presence(now.params, now.lab),
        "reader": lambda now: now.event is Event.SUBMITTED,
        "deferral": lambda now: now.event is Event.DEFERRED,
        "proposal": _put_off,
        "mispriced": _put_off,
        "debt": _owes,
        "repayment": _owes,
        "interest": lambda now: now.has("debt_interest"),
        "licence": _explored,
        "instrument": _new_lot,
        "slots": lambda now: now.step is not None,
        "factors": lambda now: now.has("energy_spent"),
        "page": _explored,
        "finding": _could_publish,
        "confidence": _could_publish,
        "verdict": _could_publish,
        "measures": _could_publish,
        "words": _could_publish,
        "strengths": _could_publish,
        "scores": _could_publish,
    }
)
"""By topic of `rules`, the moment from which it matters. What is due at once is told in this order."""


class Lessons:
    """The rules of a level that were not told yet."""

    def __init__(self, params: LabParams) -> None:
        sentences = rules(params)
        self._params = params
        self._left = {topic: sentences[topic] for topic in LESSONS if topic in sentences}
        self._due: list[str] = []
        self.opening = " ".join(sentences[topic] for topic in OPENING)

    def tell(self, lab: Any, step: Any, rows: int, width: int) -> list[str]:
        """Return the rules that matter now, as far as they fit into ``rows``; the others stay due."""
        now = Moment(self._params, lab, step if is_fresh(lab, step) else None)
        self._due += [topic for topic in self._left if topic not in self._due and LESSONS[topic](now)]
        told = []
        for topic in sorted(self._due, key=list(LESSONS).index):
            sentence = "Rule: " + self._left[topic].replace("\n", " ")
            rows -= len(textwrap.wrap(sentence, width))
            if rows < 0:
                break
            told.append(sentence)
            self._due.remove(topic)
            del self._left[topic]
        return told
