"""``scores.jsonl``: one line per scored response, appended and never changed.

The source's fields, by its names: ``word_count``, ``padding_count``, ``info_density``, ``query_type`` (``style``
defines them) and ``tool_context`` with ``tool_calls``, ``tool_types``, ``has_strong_negative``. Ours: EpAd and SyA by
rater (heuristic, judge, human; null if missing), the rule and the signals of the heuristic, whether it asks for the
judge, whether the score was only logged (``shadow``), the time (ISO 8601, UTC), and the SHA-256 of response, tool calls
and query, which ties a later judgement to this response. A person's label has ``labelled_by`` and ``reason`` where they
are known; the source has no field for a label. Source: "Epistemic Adequacy Design", "Data collection" and phases 2 and
3.

A later judgement is a new line with the same ``id``; ``merged`` joins the lines of an id. ``labels`` adds labels.

Known approximation: the hash is of the exact texts, so an additional space makes another response. An unknown query
counts as an empty one.
"""

from __future__ import annotations

import dataclasses
import datetime
import functools
import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from solvent.adequacy.errors import AdequacyError
from solvent.adequacy.heuristic import Adequacy
from solvent.adequacy.jsonl import append_lines, read_lines
from solvent.adequacy.style import style_of
from solvent.adequacy.tools import ToolContext

__all__ = [
    "RATERS",
    "Ratings",
    "ScoreRecord",
    "append_scores",
    "merged",
    "now",
    "read_scores",
    "record_of",
    "response_sha256",
]

RATERS = ("heuristic", "judge", "human")
MOST_NAME, MOST_REASON = 1000, 2000

_TOOL_FIELDS = {"tool_calls", "tool_types", "has_strong_negative"}
_OPTIONAL = {"agent", "session", "labelled_by", "reason"}
_SHA256 = re.compile(r"[0-9a-f]{64}", re.ASCII)


@dataclasses.dataclass(frozen=True)
class Ratings:
    """The ratings on one scale, 0 to 3, by rater; None if missing."""

    heuristic: int | None = None
    judge: int | None = None
    human: int | None = None

    @property
    def in_force(self) -> int | None:
        """The score to act on: a person's, else the judge's, else the heuristic's; None where nobody has scored it."""
        return next((one for one in (self.human, self.judge, self.heuristic) if one is not None), None)

    def later(self, other: Ratings) -> Ratings:
        """Return these ratings, replaced by those that a later line has."""
        new = {name: value for name, value in dataclasses.asdict(other).items() if value is not None}
        return dataclasses.replace(self, **new)


@dataclasses.dataclass(frozen=True)
class ScoreRecord:
    """A line of ``scores.jsonl``; the module describes the fields. The last four are optional."""

    id: str
    word_count: int
    padding_count: int
    info_density: float
    query_type: str
    tool_context: Mapping[str, Any]
    epad: Ratings
    sya: Ratings
    rule: str
    signals: tuple[str, ...]
    escalate: bool
    shadow: bool
    time: str
    sha256: str
    agent: str | None = None
    session: str | None = None
    labelled_by: str | None = None
    reason: str | None = None

    def __post_init__(self) -> None:
        _check("score", self.to_dict())

    @property
    def labelled(self) -> bool:
        """The line has a person's label."""
        return self.epad.human is not None or self.sya.human is not None

    def to_dict(self) -> dict[str, Any]:
        """Return the fields in order, ready for JSON; the optional ones only if known."""
        nested = {
            "tool_context": dict(self.tool_context),
            "epad": dict(vars(self.epad)),
            "sya": dict(vars(self.sya)),
            "signals": list(self.signals),
        }
        fields = {**vars(self), **nested}
        return {name: value for name, value in fields.items() if name not in _OPTIONAL or value is not None}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any], where: str = "score") -> ScoreRecord:
        """Return the record of ``to_dict``.

        Raises:
            AdequacyError: a field is missing, unknown, or has a wrong value.
        """
        _check(where, fields)
        rest = {
            "epad": Ratings(**fields["epad"]),
            "sya": Ratings(**fields["sya"]),
            "signals": tuple(fields["signals"]),
        }
        return cls(**{**fields, **rest})


def record_of(response: str, context: ToolContext, query: str | None, adequacy: Adequacy) -> ScoreRecord:
    """Return the record of a response with the heuristic's score, in shadow mode, at the current time.

    Its id is the first 16 digits of the SHA-256. ``dataclasses.replace`` can add labels, the judge's scores, an id,
    agent and session.

    Raises:
        AdequacyError: a record can't hold a value.
    """
    sha256 = response_sha256(response, context, query)
    return ScoreRecord(
        id=sha256[:16],
        **dataclasses.asdict(style_of(response, query)),
        tool_context=context.field(adequacy.strong_negative),
        epad=Ratings(heuristic=adequacy.score),
        sya=Ratings(heuristic=adequacy.sya),
        rule=adequacy.rule,
        signals=adequacy.signals,
        escalate=adequacy.escalate,
        shadow=True,
        time=now(),
        sha256=sha256,
    )


def response_sha256(response: str, context: ToolContext, query: str | None) -> str:
    """Return the SHA-256 of a response, its tool calls and its query, in hexadecimal: "Yes." is many responses.

    Raises:
        AdequacyError: JSON can't hold the tool calls.
    """
    try:
        text = json.dumps([response, context.to_dicts(), query or ""], sort_keys=True, ensure_ascii=True)
    except (TypeError, ValueError, RecursionError) as error:
        raise AdequacyError(f"tool calls: {error!s:.80}; allowed: values that JSON can hold") from None
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def now() -> str:
    """Return the current time, ISO 8601 in UTC, to the second."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def append_scores(path: str | os.PathLike[str], records: Iterable[ScoreRecord]) -> int:
    """Append records to ``path``, each whole, and return their number. Several processes may append at once.

    Raises:
        AdequacyError: the file can't be written to the end of a line.
    """
    return append_lines(path, [record.to_dict() for record in records])


def read_scores(
    path: str | os.PathLike[str], *, having: re.Pattern[bytes] | None = None
) -> list[ScoreRecord]:
    """Return the records of ``path`` in order, without those whose write was cut off.

    With ``having``, only lines that it finds something in are read.

    Raises:
        AdequacyError: the file can't be read, or a line is not a record; the message has its number.
    """
    lines = read_lines(path, appended=True, having=having)
    return [ScoreRecord.from_dict(fields, place) for place, fields in lines]


def merged(records: Iterable[ScoreRecord]) -> list[ScoreRecord]:
    """Return one record per id, in order of first appearance. Later ratings replace earlier ones.

    A person's label is not replaced by another person's: the first person's stands, with name and reason. A scale that
    the first left out has the label of the next person who gave it. Rule, signals, time and the heuristic's other
    fields come from the last line with its score; agent and session are the last known.

    Raises:
        AdequacyError: two responses have one id.
    """
    whole: dict[str, ScoreRecord] = {}
    labels: dict[str, dict[str | None, ScoreRecord]] = {}
    for record in records:
        first = whole.setdefault(record.id, record)
        if first.sha256 != record.sha256:
            raise AdequacyError(f"id: got {record.id!r:.80} for two responses; allowed: an id for each")
        whole[record.id] = _joined(first, record)
        if record.labelled:
            given = labels.setdefault(record.id, {})
            given[record.labelled_by] = _joined(given.get(record.labelled_by, record), record)
    return [_labelled(record, [*labels.get(record.id, {}).values()]) for record in whole.values()]


def _joined(first: ScoreRecord, record: ScoreRecord) -> ScoreRecord:
    """Return two lines about a response as one."""
    label = record if record.labelled else first
    return dataclasses.replace(
        first if record.epad.heuristic is None else record,
        epad=first.epad.later(record.epad),
        sya=first.sya.later(record.sya),
        labelled_by=label.labelled_by,
        reason=label.reason,
        agent=first.agent if record.agent is None else record.agent,
        session=first.session if record.session is None else record.session,
    )


def _labelled(record: ScoreRecord, people: Sequence[ScoreRecord]) -> ScoreRecord:
    """Return a record with the label in force, of each person's labels in the order in which people came."""
    if len(people) < 2:
        return record

    def first(ratings: Iterable[Ratings]) -> int | None:
        return next((one.human for one in ratings if one.human is not None), None)

    return dataclasses.replace(
        record,
        epad=dataclasses.replace(record.epad, human=first(one.epad for one in people)),
        sya=dataclasses.replace(record.sya, human=first(one.sya for one in people)),
        labelled_by=people[0].labelled_by,
        reason=people[0].reason,
    )


def _check(where: str, fields: Mapping[str, Any]) -> None:
    if unknown := sorted(map(str, fields.keys() - _CHECKS.keys())):
        raise AdequacyError(f"{where}: got the field {unknown[0]!r:.80}; allowed: {', '.join(_CHECKS)}")
    for name, (fits, allowed) in _CHECKS.items():
        if name not in fields and name not in _OPTIONAL:
            raise AdequacyError(f"{where}: {name} is missing; allowed: {allowed}")
        if name in fields and not fits(fields[name]):
            raise AdequacyError(f"{where}: {name}: got {fields[name]!r:.80}; allowed: {allowed}")
    named = [name for name in ("labelled_by", "reason") if name in fields]
    if named and fields["epad"]["human"] is None and fields["sya"]["human"] is None:
        raise AdequacyError(
            f"{where}: {named[0]}: got a text without a label; allowed: beside a human rating"
        )


def _text(value: object, most: int = MOST_NAME) -> bool:
    return isinstance(value, str) and bool(value.strip()) and len(value) <= most


def _count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _share(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0.0 <= value <= 1.0


def _flag(value: object) -> bool:
    return isinstance(value, bool)


def _texts(value: object) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(entry, str) for entry in value)


def _ratings(value: object) -> bool:
    if not isinstance(value, Mapping) or set(value) != set(RATERS):
        return False
    return all(rating is None or (_count(rating) and rating <= 3) for rating in value.values())


def _tools(value: object) -> bool:
    if not isinstance(value, Mapping) or set(value) != _TOOL_FIELDS:
        return False
    names, calls = value["tool_types"], value["tool_calls"]
    return _texts(names) and _count(calls) and calls == len(names) and _flag(value["has_strong_negative"])


def _utc(value: object) -> bool:
    try:
        moment = datetime.datetime.fromisoformat(str(value))
    except ValueError:
        return False
    return isinstance(value, str) and moment.utcoffset() == datetime.timedelta(0)


def _digest(value: object) -> bool:
    return isinstance(value, str) and bool(_SHA256.fullmatch(value))


_A_COUNT = (_count, "a whole number, 0 or more")
_A_FLAG = (_flag, "true or false")
_A_TEXT = (_text, "a text")
_RATINGS = (_ratings, "heuristic, judge and human, each 0 to 3 or null")
_CHECKS: dict[str, tuple[Callable[[object], bool], str]] = {
    "id": _A_TEXT,
    "word_count": _A_COUNT,
    "padding_count": _A_COUNT,
    "info_density": (_share, "a share, 0 to 1"),
    "query_type": _A_TEXT,
    "tool_context": (_tools, "tool_calls, tool_types (as many) and has_strong_negative"),
    "epad": _RATINGS,
    "sya": _RATINGS,
    "rule": _A_TEXT,
    "signals": (_texts, "a list of texts"),
    "escalate": _A_FLAG,
    "shadow": _A_FLAG,
    "time": (_utc, "ISO 8601 in UTC, such as 2026-01-31T12:00:00+00:00"),
    "sha256": (_digest, "a SHA-256 in hexadecimal"),
    "agent": _A_TEXT,
    "session": _A_TEXT,
    "labelled_by": _A_TEXT,
    "reason": (functools.partial(_text, most=MOST_REASON), f"a text of up to {MOST_REASON:,} characters"),
}
