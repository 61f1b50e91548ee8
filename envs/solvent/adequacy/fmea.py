"""Failure incidents (FMEA): logged, ranked, and turned into labelled examples.

An incident has three ordinal ranks, 1 to 10 each, as the field of failure mode and effects analysis has them, and the
risk priority number

    RPN = severity * occurrence * detectability      (1 to 1000; of detectability, 10 is what nobody would notice)

Severity may be given by name: low, medium, high (``severities`` has the ranks). ``incidents.jsonl`` is append-only.

An incident in which the agent was *confidently* wrong is a labelled example of EpAd: 3 where it had no evidence at all
or evidence to the contrary (``contradicted``), else 2. Confidently: in definitive or absolute words, or in plain ones
with no more than thin evidence. A careful response that turned out wrong is a failure, and no example of EpAd: the
scale measures the process, not the outcome. Source: "Epistemic Adequacy Design", "Integration with FMEA skill", and
its rubric of the scale's upper end.

Known approximation: a product of ordinal ranks is an order of work, not a quantity; an RPN twice as large is not twice
the risk. Words and evidence of an example are the heuristic's reading, so these examples favour the heuristic where it
is judged by them; they teach what it should look at (``thresholds`` learns from them and reports on none of them), and
don't replace a person's labels.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from solvent.adequacy.corrections import Correction, CorrectionTable, cell_of, correction_for
from solvent.adequacy.errors import AdequacyError
from solvent.adequacy.heuristic import Adequacy
from solvent.adequacy.jsonl import append_lines, read_lines
from solvent.adequacy.scores import now, response_sha256
from solvent.adequacy.severities import load_severities, require_rank
from solvent.adequacy.tools import ToolContext

if TYPE_CHECKING:
    from solvent.adequacy.labelled import Example

__all__ = [
    "Incident",
    "append_incidents",
    "as_example",
    "by_rpn",
    "incident_of",
    "read_incidents",
]

_RANKS = ("severity", "occurrence", "detectability")
_TEXTS = ("id", "time", "description", "query", "response", "rule", "domain", "reported_by")
_MAY_BE_EMPTY = {"query"}
_LOUD = {"definitive", "absolute"}
_LITTLE = {"none", "thin"}


@dataclasses.dataclass(frozen=True)
class Incident:
    """A response that was wrong.

    Attributes:
        id: of the incident.
        time: ISO 8601 in UTC.
        severity, occurrence, detectability: ranks from 1 to 10.
        description: what went wrong, in a sentence.
        query: what was asked; empty where it is not known.
        response: what was answered.
        context: the tool calls of that turn.
        rule: the heuristic's, such as ``definitive/thin``.
        domain: such as ``code`` or ``lab``.
        reported_by: who says so.
        contradicted: whether the evidence at hand said the opposite.

    Raises:
        AdequacyError: a field with a wrong value.
    """

    id: str
    time: str
    severity: int
    occurrence: int
    detectability: int
    description: str
    query: str
    response: str
    context: ToolContext
    rule: str
    domain: str
    reported_by: str
    contradicted: bool = False

    def __post_init__(self) -> None:
        for name in _RANKS:
            require_rank(name, getattr(self, name))
        for name in _TEXTS:
            value = getattr(self, name)
            if not isinstance(value, str) or not (value.strip() or name in _MAY_BE_EMPTY):
                raise AdequacyError(f"{name}: got {value!r:.80}; allowed: a text")
        if not isinstance(self.contradicted, bool):
            raise AdequacyError(f"contradicted: got {self.contradicted!r:.80}; allowed: true or false")
        cell_of(self.rule)  # refuses what is no rule

    @property
    def rpn(self) -> int:
        """The risk priority number, 1 to 1000."""
        return self.severity * self.occurrence * self.detectability

    @property
    def level(self) -> str:
        """The severity by name."""
        return load_severities().of(self.severity).name

    def correction(self, table: CorrectionTable | None = None) -> Correction:
        """What to say to the agent after this."""
        return correction_for(self.level, self.rule, table)

    @property
    def sha256(self) -> str:
        """The hash of the response that it is about, as the scores have it."""
        return response_sha256(self.response, self.context, self.query)

    def to_dict(self) -> dict[str, Any]:
        """The fields, ready for JSON: the tool calls as ``tool_calls``, and the RPN for who reads the file."""
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        context = fields.pop("context")
        return {**fields, "tool_calls": context.to_dicts(), "rpn": self.rpn}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any], where: str = "incident") -> Incident:
        """An incident from ``to_dict``.

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


def incident_of(
    response: str,
    context: ToolContext,
    query: str | None,
    adequacy: Adequacy,
    *,
    severity: str | int,
    occurrence: int,
    detectability: int,
    description: str,
    domain: str,
    reported_by: str,
    contradicted: bool = False,
    time: str | None = None,
    incident_id: str | None = None,
) -> Incident:
    """The incident of a scored response; ``Incident`` says what the fields are.

    ``severity`` may be a name or a rank. Time and id are found where they are None: now, and the first 16 digits of the
    SHA-256 of response, tool calls and query.

    Raises:
        AdequacyError: as ``Incident``.
    """
    return Incident(
        id=response_sha256(response, context, query)[:16] if incident_id is None else incident_id,
        time=now() if time is None else time,
        severity=load_severities().rank(severity),
        occurrence=occurrence,
        detectability=detectability,
        description=description,
        query=query or "",
        response=response,
        context=context,
        rule=adequacy.rule,
        domain=domain,
        reported_by=reported_by,
        contradicted=contradicted,
    )


def as_example(incident: Incident) -> Example | None:
    """The incident as a labelled example with EpAd 2 or 3; None where the agent was not confident (see the module)."""
    from solvent.adequacy.labelled import Example

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


def by_rpn(incidents: Iterable[Incident]) -> list[Incident]:
    """The highest risk first; of equal RPN the more severe, then the earlier."""
    return sorted(incidents, key=lambda one: (-one.rpn, -one.severity, one.time, one.id))


def append_incidents(path: str | os.PathLike[str], incidents: Iterable[Incident]) -> int:
    """Append incidents to ``path``, each whole; the number written.

    Raises:
        AdequacyError: a file that can't be written to the end of a line.
    """
    return append_lines(path, [incident.to_dict() for incident in incidents])


def read_incidents(path: str | os.PathLike[str], *, skip_broken: bool = False) -> list[Incident]:
    """The incidents of ``path`` in its order; ``skip_broken`` as in ``read_lines``.

    Raises:
        AdequacyError: a file that can't be read, or a line that is no incident; the message has its number.
    """
    lines = read_lines(path, skip_broken=skip_broken, appended=True)
    return [Incident.from_dict(fields, place) for place, fields in lines]
