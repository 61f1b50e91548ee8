"""The records of adequacy, JSON lines each: scores, incidents and corrections, by the source's field names.

``scores.jsonl`` has a line for each score, appended and never changed; a judgement or a person's label is a later line
with the same ``id``. An incident has the ranks of failure mode and effects analysis, RPN = severity * occurrence *
detectability, and refines the correction for its kind. Source: *Epistemic Adequacy Design*, "Data collection",
"Integration with FMEA skill" and phase 5.

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

from pydantic import BaseModel, Field, model_validator

from solvent.adequacy.calls import Call, calls_of
from solvent.adequacy.formats import Turn
from solvent.adequacy.heuristic import Adequacy, score
from solvent.adequacy.words import phrases, vocabulary
from solvent.files import RECORD, now

__all__ = [
    "Correction", "Given", "Incident", "Limits", "Rater", "Ratings", "Score", "ScoreRecord", "ToolContext",
    "correction_for", "corrections", "explanation", "labelled", "merged", "record_of", "refined", "rows_of",
    "severity_of",
]  # fmt: skip

Count = Annotated[int, Field(ge=0)]
Score = Annotated[int, Field(ge=0, le=3)]
Rank = Annotated[int, Field(ge=1, le=10)]
Text = Annotated[str, Field(min_length=1, max_length=1000)]
Severity = Literal["low", "medium", "high"]
Rater = Literal["heuristic", "judge"]


class ToolContext(BaseModel):
    """The source's field of the same name."""

    model_config = RECORD

    tool_calls: Count
    tool_types: list[str]
    has_strong_negative: bool


class Ratings(BaseModel):
    """Ratings on one scale by rater; None if missing."""

    model_config = RECORD

    heuristic: Score | None = None
    judge: Score | None = None
    human: Score | None = None

    def in_force(self, rater: Rater = "heuristic") -> int | None:
        """Return the score to act on: a person's, else that of ``rater``, else the other one's."""
        raters = (self.human, getattr(self, rater), self.heuristic, self.judge)
        return next((score for score in raters if score is not None), None)


class ScoreRecord(BaseModel):
    """A line of ``scores.jsonl``.

    ``sha256`` is that of the response, its calls and its query. A response that asserts nothing has no heuristic score.
    ``certain``: marks alone contradict it; ``stopped``: the hook held its agent up because of it.
    """

    model_config = RECORD

    id: Text
    word_count: Count
    padding_count: Count
    info_density: Annotated[float, Field(ge=0.0, le=1.0)]
    query_type: Text
    tool_context: ToolContext
    epad: Ratings
    sya: Ratings = Ratings()
    rule: Text
    signals: list[str] = []
    escalate: bool
    certain: bool = False
    stopped: bool = False
    shadow: bool = True
    time: datetime
    sha256: Text
    agent: str = ""
    session: str = ""
    labelled_by: str = ""
    reason: str = ""


def record_of(turn: Turn, adequacy: Adequacy, **fields: Any) -> ScoreRecord:
    """Return the line of a turn whose response the heuristic scored; ``fields`` replace or complete its own."""
    digest = json.dumps([turn.response, rows_of(turn.calls), turn.query], sort_keys=True, default=str)
    sha256 = hashlib.sha256(digest.encode()).hexdigest()
    tools, negative = [call.name for call in turn.calls], adequacy.strong_negative
    own = {
        "id": turn.id,
        "tool_context": {"tool_calls": len(tools), "tool_types": tools, "has_strong_negative": negative},
        "epad": {"heuristic": None if adequacy.rule == "nothing_asserted" else adequacy.score},
        "rule": adequacy.rule,
        "signals": list(adequacy.signals),
        "escalate": adequacy.escalate,
        "certain": adequacy.certain,
        "time": now(),
        "sha256": sha256,
        "session": turn.session,
    }
    return ScoreRecord.model_validate({**_style(turn.response, turn.query), **own, **fields})


def _style(response: str, query: str) -> dict[str, Any]:
    """Return the source's four fields of style; ``query_type`` is ``directive`` where no other fits."""
    prose = re.sub(r"```.*?(?:```|\Z)", "", response, flags=re.DOTALL)
    words = re.findall(r"[^\W_]+(?:['\-._][^\W_]+)*", phrases("padding").sub(" ", prose).lower())
    padding = phrases("padding").findall(prose)
    telling = sum(word not in frozenset(vocabulary()["words"]["stop"].split()) for word in words)
    count = len(words) + sum(len(one.split()) for one in padding)
    types = vocabulary()["query_types"].items()
    fits = [name for name, one in types if re.match(one, query.strip(), re.IGNORECASE | re.DOTALL)]
    return {
        "word_count": count,
        "padding_count": len(padding),
        "info_density": round(telling / count, 4) if count else 0.0,
        "query_type": [*fits, "directive"][0] if query.strip() else "none",
    }


def rows_of(calls: Iterable[Call]) -> list[dict[str, Any]]:
    """Return calls as rows ``{name, arguments, result, error?}``, which ``calls_of`` reads."""
    rows = []
    for call in calls:
        result = call.result if call.recorded else None
        error = {} if call.failed is None else {"error": call.failed}
        rows.append({"name": call.name, "arguments": dict(call.arguments), "result": result} | error)
    return rows


def labelled(
    record: ScoreRecord, *, epad: int, by: str, sya: int | None = None, reason: str = ""
) -> ScoreRecord:
    """Return the line of a person's label of a scored response."""
    label = {
        "epad": {"human": epad},
        "sya": {"human": sya},
        "labelled_by": by,
        "reason": reason,
        "time": now(),
    }
    return ScoreRecord.model_validate(record.model_dump() | label)


def merged(records: Iterable[ScoreRecord]) -> list[ScoreRecord]:
    """Return one record for each id, in order of first appearance: a later rating replaces an earlier one."""
    latest: dict[str, ScoreRecord] = {}
    for record in records:
        earlier, update = latest.get(record.id), {}
        if earlier is not None and earlier.sha256 == record.sha256:
            for scale in ("epad", "sya"):
                new = getattr(record, scale).model_dump(exclude_none=True)
                update[scale] = getattr(earlier, scale).model_copy(update=new)
            if earlier.labelled_by and not record.labelled_by:
                update |= {"labelled_by": earlier.labelled_by, "reason": earlier.reason}
        latest[record.id] = record.model_copy(update=update)
    return list(latest.values())


# -- corrections ---------------------------------------------------------------------------------


class Correction(BaseModel):
    """What an agent is told after a failure of a kind. ``*`` is any; ``incident`` is the one that refined it."""

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
def _document() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name("corrections.toml").read_text(encoding="utf-8"))


@functools.cache
def corrections() -> tuple[Correction, ...]:
    """Return the shipped rows, ``corrections.toml``."""
    keys = ("severity", "words", "evidence", "id", "text")
    rows = (dict(zip(keys, row, strict=True)) for row in _document()["corrections"])
    return tuple(map(Correction.model_validate, rows))


def explanation(signals: Iterable[str]) -> str:
    """Return what the contradiction among these signals is, in words for its agent; empty if there is none."""
    texts: dict[str, str] = _document()["findings"]
    return next((texts[signal] for signal in signals if signal in texts), "")


def severity_of(rule: str, learned: Sequence[Correction]) -> Severity:
    """Return the highest severity of the incidents of a rule; low if there was none."""
    words, _, evidence = rule.partition("/")
    rows = [row.severity for row in learned if (row.words, row.evidence) == (words, evidence or "*")]
    levels: tuple[Severity, ...] = ("high", "medium")
    return next((level for level in levels if level in rows), "low")


def correction_for(severity: str, rule: str, learned: Sequence[Correction] = ()) -> Correction:
    """Return the most specific correction for a failure, of the shipped ones and those that incidents refined.

    Raises:
        ValueError: the severity is unknown.
    """
    if severity not in ("low", "medium", "high"):
        raise ValueError(f"severity: got {severity!r:.80}; allowed: low, medium, high")
    rows = [row for row in (*reversed(learned), *corrections()) if row.fits(severity, rule)]
    return max(rows, key=lambda row: row.specificity)  # of equals the first, which is the latest learned


# -- incidents -----------------------------------------------------------------------------------


class Incident(BaseModel):
    """A response that was wrong. Ranks from 1 to 10: harm, frequency, and how hard it is to notice."""

    model_config = RECORD

    id: Text
    time: datetime = Field(default_factory=now)
    severity: Rank
    occurrence: Rank
    detectability: Rank
    description: Text
    query: str = ""
    response: str
    tool_calls: list[dict[str, Any]]
    reported_by: Text
    contradicted: bool = False

    @property
    def rpn(self) -> int:
        """The risk priority number, 1 to 1000."""
        return self.severity * self.occurrence * self.detectability

    @property
    def level(self) -> Severity:
        """The severity by name: low if the user caught it, high if somebody acted on it."""
        return "high" if self.severity >= 8 else "medium" if self.severity >= 4 else "low"

    @property
    def rule(self) -> str:
        """The heuristic's rule, with ``contradicted`` evidence where a person says so."""
        rule = score(self.response, calls_of(self.tool_calls), self.query).rule
        return f"{rule.partition('/')[0]}/contradicted" if self.contradicted and "/" in rule else rule

    @property
    def label(self) -> int | None:
        """The label as an example: 2 or 3 if the agent was confident; None if its words were measured."""
        words, _, evidence = self.rule.partition("/")
        confident = words in ("definitive", "absolute") or (
            words == "plain" and evidence not in ("reasonable", "ample")
        )
        return (3 if evidence in ("none", "contradicted") else 2) if confident else None


def refined(incident: Incident, learned: Sequence[Correction] = (), text: str = "") -> Correction:
    """Return the correction that an incident makes of the one in force: a person's text, else with what happened."""
    earlier = correction_for(incident.level, incident.rule, learned)
    words, _, evidence = incident.rule.partition("/")
    advice = (
        text or f"{earlier.text.partition(' It happened:')[0]} It happened: {incident.description}"[:1000]
    )
    row = {"id": f"after {incident.id}", "severity": incident.level, "text": advice, "incident": incident.id}
    return Correction.model_validate(row | {"words": words if evidence else "*", "evidence": evidence or "*"})


# -- adopted limits, and what was given ------------------------------------------------------------


class Limits(BaseModel):
    """What labels favour, a file that ``thresholds --out`` writes and ``--limits`` adopts.

    Attributes:
        cuts: from how many distinct calls on evidence is reasonable, and ample.
        rater: whose scores drift follows where no person scored.
        labels: number of labelled responses behind them.
        time: when they were learnt.
    """

    model_config = RECORD

    cuts: tuple[Annotated[int, Field(ge=1)], Annotated[int, Field(ge=2)]]
    rater: Rater = "heuristic"
    labels: Count
    time: datetime

    @model_validator(mode="after")
    def _ordered(self) -> Limits:
        if self.cuts[0] >= self.cuts[1]:
            raise ValueError(f"cuts {list(self.cuts)}; allowed: the first below the second")
        return self


class Given(BaseModel):
    """A correction that went to an agent with its next turn, a line of ``given.jsonl``."""

    model_config = RECORD

    session: str
    response: str
    sha256: Text
    correction: str
    text: str
    time: datetime
