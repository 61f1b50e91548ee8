"""Triggers: patterns that a person has accepted, kept in an append-only file; nothing becomes one by itself.

``triggers.jsonl`` has a line a decision: who accepted or withdrew a pattern, why, and with what evidence. The last
decision about a pattern holds. A trigger says "a judge should look": on a response that shows its pattern the heuristic
escalates, with the signal ``trigger:<pattern>``; it changes no score. Source: "Epistemic Adequacy
Design", "Feedback into heuristics", which lets a pattern over 70 % become a trigger; that a person decides is ours.

Known approximation: ``by`` is what the caller gives. It names who answers for the decision, and proves nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from dataclasses import fields as dataclass_fields
from typing import Any, Literal

from solvent.adequacy.errors import AdequacyError
from solvent.adequacy.heuristic import Adequacy
from solvent.adequacy.jsonl import append_lines, read_lines
from solvent.adequacy.patterns import Finding, Pattern
from solvent.adequacy.scores import now
from solvent.adequacy.tools import ToolContext

__all__ = ["Trigger", "accept", "escalated", "fired", "read_triggers", "withdraw"]


@dataclass(frozen=True)
class Trigger:
    """A decision about a pattern: who, why, when, and the evidence that it had when it was accepted.

    Raises:
        AdequacyError: a name, a reason or a time that is empty, or an unknown decision.
    """

    pattern: Pattern
    decision: Literal["accepted", "withdrawn"]
    accepted_by: str
    reason: str
    time: str
    rate: float
    lower_bound: float
    count: int

    def __post_init__(self) -> None:
        for name in ("accepted_by", "reason", "time"):
            value = getattr(self, name)
            if not isinstance(value, str) or not value.strip():
                raise AdequacyError(f"{name}: got {value!r:.80}; allowed: a text")
        if self.decision not in ("accepted", "withdrawn"):
            raise AdequacyError(f"decision: got {self.decision!r:.80}; allowed: accepted, withdrawn")

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any], where: str = "trigger") -> Trigger:
        """A decision from a line of the file.

        Raises:
            AdequacyError: a field is missing, unknown, or has a wrong value.
        """
        pattern = fields.get("pattern")
        names = sorted(field.name for field in dataclass_fields(cls))
        if sorted(fields) != names or not isinstance(pattern, Mapping):
            raise AdequacyError(f"{where}: got {', '.join(fields)!r:.80}; allowed: {', '.join(names)}")
        try:
            shape = Pattern(pattern["shape"], tuple(pattern["tools"]), bool(pattern["then_negative"]))
            return cls(**{**fields, "pattern": shape})
        except (KeyError, TypeError):
            allowed = "allowed: shape, tools and then_negative"
            raise AdequacyError(f"{where}: pattern: got {pattern!r:.80}; {allowed}") from None
        except AdequacyError as error:
            raise AdequacyError(f"{where}: {error}") from None


def accept(path: str | os.PathLike[str], finding: Finding, by: str, reason: str) -> Trigger:
    """Make a candidate a trigger: the decision of the person named, appended to ``path``.

    Raises:
        AdequacyError: no candidate, no name or reason, or a file that can't be written.
    """
    if not finding.candidate:
        raise AdequacyError(
            f"pattern: got {str(finding.pattern)!r:.80}, bound {finding.lower_bound:.2f}; allowed: a candidate"
        )
    rate, bound = finding.weighted_rate, finding.lower_bound
    trigger = Trigger(finding.pattern, "accepted", by, reason, now(), rate, bound, finding.count)
    append_lines(path, [asdict(trigger)])
    return trigger


def withdraw(path: str | os.PathLike[str], trigger: Trigger, by: str, reason: str) -> Trigger:
    """Take a trigger back: likewise a person's decision, appended.

    Raises:
        AdequacyError: it is not in force, no name or reason, or a file that can't be written.
    """
    if trigger.pattern not in {one.pattern for one in read_triggers(path)}:
        raise AdequacyError(f"trigger: got {str(trigger.pattern)!r:.80}; allowed: one that is in force")
    taken = replace(trigger, decision="withdrawn", accepted_by=by, reason=reason, time=now())
    append_lines(path, [asdict(taken)])
    return taken


def read_triggers(path: str | os.PathLike[str]) -> list[Trigger]:
    """The triggers in force, in the order of their acceptance.

    Raises:
        AdequacyError: a file that can't be read, or a line that is no decision; the message has its number.
    """
    last: dict[Pattern, Trigger] = {}
    for place, fields in read_lines(path, appended=True):
        decision = Trigger.from_dict(fields, place)
        last.pop(decision.pattern, None)
        last[decision.pattern] = decision
    return [one for one in last.values() if one.decision == "accepted"]


def fired(triggers: Iterable[Trigger], tools: Sequence[str], strong_negative: bool) -> tuple[Trigger, ...]:
    """The triggers whose pattern a response shows."""
    return tuple(one for one in triggers if one.pattern.matches(tools, strong_negative))


def escalated(adequacy: Adequacy, context: ToolContext, triggers: Iterable[Trigger]) -> Adequacy:
    """The score with what its triggers add: a judge should look, and the signal ``trigger:<pattern>`` of each."""
    tools = [call.name for call in context.calls]
    signals = [f"trigger:{one.pattern}" for one in fired(triggers, tools, adequacy.strong_negative)]
    if not signals:
        return adequacy
    return replace(adequacy, escalate=True, signals=(*adequacy.signals, *signals))
