"""Failure incidents (FMEA): logged, ranked, weighted by severity, and turned into labelled examples.

An incident has three ordinal ranks, 1 to 10 each, as in failure mode and effects analysis, and the risk priority number

    RPN = severity * occurrence * detectability      (1 to 1000; detectability 10: nobody would notice)

A named severity (low, medium, high) covers the ranks from its lowest up to the next one's, and has a weight in pattern
extraction (``patterns``); only the ratios of the weights matter. ``incidents.jsonl`` is append-only.

An incident in which the agent was *confidently* wrong is a labelled example: EpAd 3 if it had no evidence or evidence
to the contrary (``contradicted``), else 2. Confident means definitive or absolute words, or plain words with at most
thin evidence. A careful response that turned out wrong is a failure but no example, because EpAd measures the process,
not the outcome. Source: "Epistemic Adequacy Design", "Integration with FMEA skill", and its rubric of the scale's upper
end; the ranks and weights of the severities are ours.

Known approximation: a product of ordinal ranks gives an order of work, not a quantity, and the weights are a choice.
The heuristic reads words and evidence of an example, so these examples favour the heuristic when they judge it.
Therefore ``thresholds`` learns from them and reports on none of them; they don't replace a person's labels.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Mapping
from typing import Any

from solvent.adequacy.corrections import Correction, CorrectionTable, cell_of, correction_for, kind_of
from solvent.adequacy.errors import AdequacyError
from solvent.adequacy.jsonl import append_lines, read_lines
from solvent.adequacy.labelled import Example
from solvent.adequacy.scores import now, response_sha256
from solvent.adequacy.tools import ToolContext

__all__ = [
    "SCALE",
    "Incident",
    "Severity",
    "append_incidents",
    "as_example",
    "incident_examples",
    "read_incidents",
    "severity_named",
    "severity_of",
]

_RANKS = ("severity", "occurrence", "detectability")
_TEXTS = ("id", "time", "description", "query", "response", "rule", "domain", "reported_by")
_MAY_BE_EMPTY = {"query"}
_LOUD = {"definitive", "absolute"}
_LITTLE = {"none", "thin"}


@dataclasses.dataclass(frozen=True)
class Severity:
    """A named severity: its lowest rank, the rank of the bare name, and its weight."""

    name: str
    lowest: int
    rank: int
    weight: float


SCALE = (
    Severity("low", 1, 3, 1.0),  # the user caught the error
    Severity("medium", 4, 6, 2.0),  # it cost work, and was caught before anybody relied on it
    Severity("high", 8, 9, 4.0),  # somebody acted on it, or it was published
)
"""The severities, lowest first."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Incident:
    """A response that was wrong.

    Attributes:
        id: id of the incident; by default 16 digits of ``sha256``.
        time: ISO 8601 in UTC; by default now.
        severity: how bad it was, a rank from 1 to 10; ``severity_named`` gives the rank of a name.
        occurrence: how often it happens, a rank from 1 to 10.
        detectability: how hard it is to notice, a rank from 1 to 10.
        description: the failure, in a sentence.
        query: the user's query; empty if unknown.
        response: the agent's response.
        context: the tool calls of that turn.
        rule: the heuristic's rule, such as ``definitive/thin``.
        domain: the subject, such as ``code`` or ``lab``.
        reported_by: the person who reports it.
        contradicted: the evidence at hand said the opposite.

    Raises:
        AdequacyError: a field has a wrong value.
    """

    id: str = ""
    time: str = dataclasses.field(default_factory=now)
    severity: int
    occurrence: int
    detectability: int
    description: str
    query: str = ""
    response: str
    context: ToolContext
    rule: str
    domain: str
    reported_by: str
    contradicted: bool = False

    def __post_init__(self) -> None:
        for name in _RANKS:
            _require_rank(name, getattr(self, name))
        if self.id == "" and isinstance(self.response, str):
            object.__setattr__(self, "id", self.sha256[:16])
        for name in _TEXTS:
            value = getattr(self, name)
            if not isinstance(value, str) or not (value.strip() or name in _MAY_BE_EMPTY):
                raise AdequacyError(f"{name}: got {value!r:.80}; allowed: a text")
        if not isinstance(self.contradicted, bool):
            raise AdequacyError(f"contradicted: got {self.contradicted!r:.80}; allowed: true or false")
        cell_of(self.rule)  # refuses an unknown rule

    @property
    def rpn(self) -> int:
        """The risk priority number, 1 to 1000."""
        return self.severity * self.occurrence * self.detectability

    @property
    def level(self) -> str:
        """The severity by name."""
        return severity_of(self.severity).name

    def correction(self, table: CorrectionTable | None = None) -> Correction:
        """Return the agent's correction after this incident."""
        return correction_for(self.level, kind_of(self.rule, contradicted=self.contradicted), table)

    @property
    def sha256(self) -> str:
        """The hash of the response, as the scores have it."""
        return response_sha256(self.response, self.context, self.query)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, ready for JSON: the tool calls as ``tool_calls``, and the RPN for readers of the file."""
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        context = fields.pop("context")
        return {**fields, "tool_calls": context.to_dicts(), "rpn": self.rpn}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any], where: str = "incident") -> Incident:
        """Return the incident of ``to_dict``.

        Raises:
            AdequacyError: a field is missing, unknown, or has a wrong value.
        """
        names = {field.name for field in dataclasses.fields(cls)} - {"context"} | {"tool_calls", "rpn"}
        if wrong := sorted(map(str, names ^ set(fields))):
            what = "missing" if wrong[0] in names else "unknown"
            raise AdequacyError(f"{where}: {wrong[0]:.80} is {what}; allowed: {', '.join(sorted(names))}")
        own = {name: value for name, value in fields.items() if name not in ("tool_calls", "rpn")}
        try:
            incident = cls(**own, context=ToolContext.from_dicts(fields["tool_calls"]))
        except AdequacyError as error:
            raise AdequacyError(f"{where}: {error}") from None
        if fields["rpn"] != incident.rpn:
            raise AdequacyError(f"{where}: rpn: got {fields['rpn']!r:.80}; allowed: {incident.rpn}")
        return incident


def severity_named(name: str) -> Severity:
    """Return the severity of a name.

    Raises:
        AdequacyError: the name is unknown.
    """
    for severity in SCALE:
        if severity.name == name:
            return severity
    raise AdequacyError(f"severity: got {name!r:.80}; allowed: {', '.join(one.name for one in SCALE)}")


def severity_of(rank: int) -> Severity:
    """Return the severity that covers a rank.

    Raises:
        AdequacyError: the rank is not a whole number from 1 to 10.
    """
    _require_rank("severity", rank)
    return [severity for severity in SCALE if severity.lowest <= rank][-1]


def _require_rank(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 10:
        raise AdequacyError(f"{name}: got {value!r:.80}; allowed: a whole number from 1 to 10")


def as_example(incident: Incident) -> Example | None:
    """Return the incident as a labelled example; None if the agent was not confident (see the module)."""
    words, evidence = cell_of(incident.rule)
    if words not in _LOUD and not (words == "plain" and evidence in _LITTLE):
        return None
    return Example(
        id=f"incident-{incident.id}",
        domain=incident.domain,
        query=incident.query or None,
        response=incident.response,
        context=incident.context,
        epad=3 if evidence == "none" or incident.contradicted else 2,
        sya=None,
        kind="incident",
        rationale=incident.description,
    )


def incident_examples(path: str | os.PathLike[str] | None, labelled: Iterable[Example]) -> list[Example]:
    """Return incidents with a confident agent about responses that nobody has labelled; the last about each.

    Raises:
        AdequacyError: incidents that can't be read.
    """
    known = {response_sha256(one.response, one.context, one.query) for one in labelled}
    incidents = [] if path is None else read_incidents(path)
    last = {one.sha256: as_example(one) for one in incidents if one.sha256 not in known}
    return [
        dataclasses.replace(example, id=f"incident-{sha256}")
        for sha256, example in last.items()
        if example is not None
    ]


def append_incidents(path: str | os.PathLike[str], incidents: Iterable[Incident]) -> int:
    """Append incidents to ``path``, each whole, and return their number.

    Raises:
        AdequacyError: the file can't be written to the end of a line.
    """
    return append_lines(path, [incident.to_dict() for incident in incidents])


def read_incidents(path: str | os.PathLike[str]) -> list[Incident]:
    """Return the incidents of ``path`` in order, without those whose write was cut off.

    Raises:
        AdequacyError: the file can't be read, or a line is not an incident; the message has its number.
    """
    lines = read_lines(path, appended=True)
    return [Incident.from_dict(fields, place) for place, fields in lines]
