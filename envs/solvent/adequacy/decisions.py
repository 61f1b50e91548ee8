"""People's decisions in append-only files: patterns accepted as triggers, and corrections retired.

Each line of ``triggers.jsonl`` and ``retired.jsonl`` is a decision: who, why and when. The last decision about a
pattern holds; no code decides. A trigger is a rule of the heuristic from then on: a response with its pattern that
asserts something scores 2 at least, the label that the pattern precedes, and escalates to the judge; the signal
``trigger:<pattern>`` says why. Hedged responses keep their score. A retired correction is skipped
(``CorrectionTable.without``), so the next most specific one answers; the default can't be retired. Source: "Epistemic
Adequacy Design", "Feedback into heuristics" and phase 5; that a person decides is ours.

Known approximation: ``by`` names the person who decided and is not verified.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal

from solvent.adequacy.claims import Words
from solvent.adequacy.corrections import CorrectionTable, load_corrections
from solvent.adequacy.errors import AdequacyError
from solvent.adequacy.heuristic import Adequacy
from solvent.adequacy.jsonl import append_lines, read_lines
from solvent.adequacy.patterns import Finding, Pattern
from solvent.adequacy.scores import now
from solvent.adequacy.tools import ToolContext

__all__ = [
    "Trigger",
    "accept",
    "fired",
    "read_triggers",
    "retire",
    "retired",
    "retirements",
    "triggered",
    "withdraw",
]


_FAILED = 2  # the least label of a failure, of which patterns are made


def _require_texts(**texts: object) -> None:
    for name, value in texts.items():
        if not isinstance(value, str) or not value.strip():
            raise AdequacyError(f"{name}: got {value!r:.80}; allowed: a text")


@dataclass(frozen=True)
class Trigger:
    """A decision about a pattern, with the pattern's evidence at that time.

    Raises:
        AdequacyError: a name, a reason or a time is empty, or the decision is unknown.
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
        _require_texts(accepted_by=self.accepted_by, reason=self.reason, time=self.time)
        if self.decision not in ("accepted", "withdrawn"):
            raise AdequacyError(f"decision: got {self.decision!r:.80}; allowed: accepted, withdrawn")

    @classmethod
    def from_dict(cls, line: Mapping[str, Any], where: str = "trigger") -> Trigger:
        """Return the decision in a line of the file.

        Raises:
            AdequacyError: a field is missing, unknown, or has a wrong value.
        """
        pattern, names = line.get("pattern"), sorted(field.name for field in fields(cls))
        if sorted(line) != names or not isinstance(pattern, Mapping):
            raise AdequacyError(f"{where}: got {', '.join(line)!r:.80}; allowed: {', '.join(names)}")
        try:
            shape = Pattern(pattern["shape"], tuple(pattern["tools"]), bool(pattern["then_negative"]))
            return cls(**{**line, "pattern": shape})
        except (KeyError, TypeError):
            allowed = "allowed: shape, tools and then_negative"
            raise AdequacyError(f"{where}: pattern: got {pattern!r:.80}; {allowed}") from None
        except AdequacyError as error:
            raise AdequacyError(f"{where}: {error}") from None


def accept(path: str | os.PathLike[str], finding: Finding, by: str, reason: str) -> Trigger:
    """Make a candidate a trigger, by decision of the person named.

    Raises:
        AdequacyError: the finding is not a candidate, name or reason is empty, or the file can't be written.
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
    """Withdraw a trigger.

    Raises:
        AdequacyError: the trigger is not in force, name or reason is empty, or the file can't be written.
    """
    if trigger.pattern not in {one.pattern for one in read_triggers(path)}:
        raise AdequacyError(f"trigger: got {str(trigger.pattern)!r:.80}; allowed: one that is in force")
    taken = replace(trigger, decision="withdrawn", accepted_by=by, reason=reason, time=now())
    append_lines(path, [asdict(taken)])
    return taken


def read_triggers(path: str | os.PathLike[str]) -> list[Trigger]:
    """Return the triggers in force, in the order of their acceptance.

    Raises:
        AdequacyError: the file can't be read, or a line is not a decision; the message has its number.
    """
    last: dict[Pattern, Trigger] = {}
    for place, line in read_lines(path, appended=True):
        decision = Trigger.from_dict(line, place)
        last.pop(decision.pattern, None)
        last[decision.pattern] = decision
    return [one for one in last.values() if one.decision == "accepted"]


def fired(triggers: Iterable[Trigger], tools: Sequence[str], strong_negative: bool) -> tuple[Trigger, ...]:
    """Return the triggers whose pattern a response shows."""
    return tuple(one for one in triggers if one.pattern.matches(tools, strong_negative))


def triggered(adequacy: Adequacy, context: ToolContext, triggers: Iterable[Trigger]) -> Adequacy:
    """Return the score that the triggers make of it: a claim is at least ``_FAILED``, and a judge is asked."""
    tools = [call.name for call in context.calls]
    signals = [f"trigger:{one.pattern}" for one in fired(triggers, tools, adequacy.strong_negative)]
    if not signals:
        return adequacy
    claims = adequacy.words is not None and adequacy.words > Words.HEDGED
    value = max(adequacy.score, _FAILED) if claims else adequacy.score
    return replace(adequacy, score=value, escalate=True, signals=(*adequacy.signals, *signals))


def retire(
    path: str | os.PathLike[str], correction: str, by: str, reason: str, table: CorrectionTable | None = None
) -> None:
    """Append the decision to retire a correction of ``table``, by default the shipped one.

    Raises:
        AdequacyError: the id is unknown, retired already or the default row's, two other rows would tie, name or reason
            is empty, or the file can't be written.
    """
    table, gone = load_corrections() if table is None else table, retired(path)
    if correction in gone:
        raise AdequacyError(
            f"correction: got {correction!r:.80}, retired already; allowed: one that is given"
        )
    table.without({*gone, table[correction].id})
    _require_texts(by=by, reason=reason)
    line = {"correction": correction, "decision": "retired", "by": by, "reason": reason, "time": now()}
    append_lines(path, [line])


def retired(path: str | os.PathLike[str]) -> frozenset[str]:
    """Return the ids of the retired corrections; empty without a file. Raises what ``retirements`` raises."""
    return frozenset(retirements(path))


def retirements(path: str | os.PathLike[str]) -> dict[str, dict[str, str]]:
    """Return the first decision to retire each correction, by its id; empty without a file.

    Raises:
        AdequacyError: the file can't be read, or a line is not a decision; the message has its number.
    """
    gone: dict[str, dict[str, str]] = {}
    if not Path(path).exists():
        return gone
    for place, line in read_lines(path, appended=True):
        texts = all(isinstance(value, str) and value.strip() for value in line.values())
        known = set(line) == {"correction", "decision", "by", "reason", "time"}
        if not known or not texts or line["decision"] != "retired":
            allowed = "allowed: correction, decision (retired), by, reason, time"
            raise AdequacyError(f"{place}: got {line!r:.80}; {allowed}")
        gone.setdefault(line["correction"], line)
    return gone
