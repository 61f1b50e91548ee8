"""The records of adequacy, JSON lines each: scores, incidents and corrections, by the source's field names.

``scores.jsonl`` has a line for each score, appended and never changed; a later judgement or a person's label is another
line with the same ``id``. ``epad`` and ``sya`` hold the ratings by rater. Source: *Epistemic Adequacy Design*, "Data
collection", "Integration with FMEA skill" and phase 5. The ranks of an incident are those of failure mode and effects
analysis: RPN = severity * occurrence * detectability.

Known approximation: style is counted, not read. A product of ordinal ranks gives an order of work, not a quantity.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
import tomllib
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from solvent.adequacy.calls import Call, calls_of
from solvent.adequacy.heuristic import Adequacy, score
from solvent.adequacy.words import lexicon, phrases, word_set
from solvent.files import RECORD, now

__all__ = [
    "Correction", "Incident", "Ratings", "ScoreRecord", "ToolContext", "correction_for", "corrections", "merged",
    "record_of", "refined",
]  # fmt: skip

Score = Annotated[int, Field(ge=0, le=3)]
Rank = Annotated[int, Field(ge=1, le=10)]
Text = Annotated[str, Field(min_length=1, max_length=1000)]
Severity = Literal["low", "medium", "high"]


class ToolContext(BaseModel):
    """The source's field of the same name."""

    model_config = RECORD

    tool_calls: Annotated[int, Field(ge=0)]
    tool_types: list[str]
    has_strong_negative: bool


class Ratings(BaseModel):
    """Ratings on one scale, 0 to 3, by rater; None if missing."""

    model_config = RECORD

    heuristic: Score | None = None
    judge: Score | None = None
    human: Score | None = None

    @property
    def in_force(self) -> int | None:
        """The score to act on: a person's, else the judge's, else the heuristic's."""
        return next((one for one in (self.human, self.judge, self.heuristic) if one is not None), None)


class ScoreRecord(BaseModel):
    """A line of ``scores.jsonl``. ``sha256`` ties it to the response, its calls and its query."""

    model_config = RECORD

    id: Text
    word_count: Annotated[int, Field(ge=0)]
    padding_count: Annotated[int, Field(ge=0)]
    info_density: Annotated[float, Field(ge=0.0, le=1.0)]
    query_type: Text
    tool_context: ToolContext
    epad: Ratings
    sya: Ratings = Ratings()
    rule: Text
    signals: list[str] = []
    escalate: bool
    shadow: bool = True
    time: datetime
    sha256: Text
    agent: str = ""
    session: str = ""
    labelled_by: str = ""
    reason: str = ""


def record_of(
    response: str, calls: Sequence[Call], query: str, found: Adequacy, **fields: Any
) -> ScoreRecord:
    """Return the line of a response that the heuristic scored; ``fields`` are further ones, such as ``id``."""
    asked = [[call.name, dict(call.arguments), call.result] for call in calls]
    digest = hashlib.sha256(
        json.dumps([response, asked, query], sort_keys=True, default=str).encode()
    ).hexdigest()
    return ScoreRecord.model_validate(
        {
            "id": digest[:16],
            **_style(response, query),
            "tool_context": {
                "tool_calls": len(calls),
                "tool_types": [call.name for call in calls],
                "has_strong_negative": found.strong_negative,
            },
            "epad": Ratings(heuristic=found.score),
            "rule": found.rule,
            "signals": list(found.signals),
            "escalate": found.escalate,
            "time": now(),
            "sha256": digest,
            **fields,
        }
    )


def labelled(
    record: ScoreRecord, *, epad: int, sya: int | None = None, by: str, reason: str = ""
) -> ScoreRecord:
    """Return the line of a person's label of a scored response."""
    ratings = {
        "epad": {"human": epad},
        "sya": {"human": sya},
        "labelled_by": by,
        "reason": reason,
        "time": now(),
    }
    return ScoreRecord.model_validate(record.model_dump() | ratings)


def rows_of(calls: Iterable[Call]) -> list[dict[str, Any]]:
    """Return calls as rows ``{name, arguments, result, error?}``, the reverse of ``calls_of``."""
    return [
        {
            "name": call.name,
            "arguments": dict(call.arguments),
            "result": call.result if call.recorded else None,
        }
        | ({} if call.failed is None else {"error": call.failed})
        for call in calls
    ]


def merged(records: Iterable[ScoreRecord]) -> list[ScoreRecord]:
    """Return one record for each id, in order of first appearance: later ratings replace earlier ones.

    A person's label stands against a second person's.
    """
    found: dict[str, ScoreRecord] = {}
    for record in records:
        earlier = found.get(record.id)
        if earlier is None or earlier.sha256 != record.sha256:
            found[record.id] = record
            continue
        kept = {"labelled_by", "reason"} if earlier.labelled_by else set()
        update: dict[str, Any] = {name: getattr(earlier, name) for name in kept}
        for scale in ("epad", "sya"):
            old, new = getattr(earlier, scale), getattr(record, scale).model_dump(exclude_none=True)
            if kept and earlier.labelled_by != record.labelled_by and old.human is not None:
                new.pop("human", None)
            update[scale] = old.model_copy(update=new)
        found[record.id] = record.model_copy(update=update)
    return list(found.values())


def _style(response: str, query: str) -> dict[str, Any]:
    """Return the source's four fields of style; a query of another type is ``directive``, a missing one ``none``."""
    words = re.findall(
        r"[^\W_]+(?:['\-._][^\W_]+)*", re.sub(r"```.*?(?:```|\Z)", "", response, flags=re.DOTALL)
    )
    padding = [found[0] for found in phrases("padding").finditer(response)]
    stop = word_set("stop")
    empty = sum(word.lower() in stop for word in words) + sum(
        word not in stop for one in padding for word in one.lower().split()
    )
    kinds = (
        name
        for name, pattern in lexicon()["query_types"].items()
        if re.match(pattern, query.strip(), re.IGNORECASE | re.DOTALL)
    )
    return {
        "word_count": len(words),
        "padding_count": len(padding),
        "info_density": round(max(0, len(words) - empty) / len(words), 4) if words else 0.0,
        "query_type": next(kinds, "directive") if query.strip() else "none",
    }


# -- corrections ---------------------------------------------------------------------------------


class Correction(BaseModel):
    """What an agent is told after a failure of a kind. ``*`` is any; ``incident`` is what refined it."""

    model_config = RECORD

    id: Text
    severity: Severity | Literal["*"]
    words: Literal["*", "hedged", "plain", "definitive", "absolute"]
    evidence: Literal["*", "none", "thin", "reasonable", "ample", "contradicted"]
    text: Text
    incident: str = ""

    def fits(self, severity: str, rule: str) -> bool:
        """Return whether the row answers a failure; only ``*`` fits ``nothing_asserted``."""
        words, _, evidence = rule.partition("/")
        return (
            self.severity in ("*", severity)
            and self.words in ("*", words)
            and self.evidence in ("*", evidence)
        )

    @property
    def specificity(self) -> tuple[int, bool, bool]:
        """What it names: words and evidence, then the severity, then an incident."""
        return (self.words != "*") + (self.evidence != "*"), self.severity != "*", bool(self.incident)


@functools.cache
def corrections() -> tuple[Correction, ...]:
    """Return the shipped rows, ``corrections.toml``."""
    document = tomllib.loads(Path(__file__).with_name("corrections.toml").read_text(encoding="utf-8"))
    return tuple(map(Correction.model_validate, document["correction"]))


def correction_for(severity: str, rule: str, learned: Sequence[Correction] = ()) -> Correction:
    """Return the most specific correction for a failure; of equals the last, so that incidents refine the shipped rows.

    Raises:
        ValueError: the severity is unknown.
    """
    if severity not in ("low", "medium", "high"):
        raise ValueError(f"severity: got {severity!r:.80}; allowed: low, medium, high")
    return max(
        (row for row in (*reversed([*learned]), *corrections()) if row.fits(severity, rule)),
        key=lambda row: row.specificity,
    )


# -- incidents -----------------------------------------------------------------------------------


class Incident(BaseModel):
    """A response that was wrong, with the ranks of failure mode and effects analysis (detectability 10: unnoticeable)."""

    model_config = RECORD

    id: Text
    time: datetime = Field(default_factory=now)
    severity: Rank
    occurrence: Rank
    detectability: Rank
    description: Text
    query: str = ""
    response: Text
    tool_calls: list[dict[str, Any]]
    reported_by: Text
    contradicted: bool = False

    @property
    def rpn(self) -> int:
        """The risk priority number, 1 to 1000."""
        return self.severity * self.occurrence * self.detectability

    @property
    def level(self) -> Severity:
        """The severity by name."""
        return "high" if self.severity >= 8 else "medium" if self.severity >= 4 else "low"

    def adequacy(self) -> Adequacy:
        """Return the heuristic's score of the response."""
        return score(self.response, calls_of(self.tool_calls), self.query)

    @property
    def rule(self) -> str:
        """The heuristic's rule, with ``contradicted`` evidence where a person says so."""
        rule = self.adequacy().rule
        return f"{rule.partition('/')[0]}/contradicted" if self.contradicted and "/" in rule else rule

    @property
    def label(self) -> int | None:
        """Return the label of a confident failure, 2 or 3; None if the words were measured: EpAd is not the outcome."""
        words, _, evidence = self.rule.partition("/")
        if words in ("definitive", "absolute") or (
            words == "plain" and evidence in ("none", "thin", "contradicted")
        ):
            return 3 if evidence in ("none", "contradicted") else 2
        return None


def refined(incident: Incident, learned: Sequence[Correction] = (), text: str = "") -> Correction:
    """Return the correction that an incident makes of the one in force: a person's text, else with what happened."""
    words, _, evidence = incident.rule.partition("/")
    earlier = correction_for(incident.level, incident.rule, learned)
    said = text or f"{earlier.text.partition(' It happened:')[0]} It happened: {incident.description}"
    fields = {"severity": incident.level, "words": words if evidence else "*", "evidence": evidence or "*"}
    return Correction(id=f"after_{incident.id}"[:64], text=said[:1000], incident=incident.id, **fields)
