"""Verdicts in a SQLite file or a PostgreSQL database, and the decisions of people on those under review.

Every verdict is kept, because thresholds are watched over time (``drift``). A verdict ``review`` waits until somebody
accepts or declines it. Such a decision names a person and a reason, is final, and is a label to learn from
(``learning``). The command line and any page decide through the same ``VerdictStore.decide``.

If several people decide at once, the database takes one decision, and the others get a ``DecidedError`` with the
decision that stands. Triggers refuse a decision on anything but a review, and every change of a decision.

Source: *Deterministic Policy Gates for Stochastic Systems*, "Human-in-the-loop policy tuning". Known approximation: the
name of a person is what the caller says; the rights to the file or the database decide who may write it.
"""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Iterable
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.orm import Session

from solvent.database import Database, Schema
from solvent.gate.errors import GateError
from solvent.gate.judged import Decision, Judged, now
from solvent.gate.policy import Policy

__all__ = ["DecidedError", "VerdictStore", "Window"]

_OUTCOMES = ("accept", "review", "decline", "reject")

_LONGEST = {"who": 200, "why": 2000}
_AT_ONCE = 500  # ids in one query
_COLUMNS = (
    *("number", "id", "judged_at", "name", "pages", "claim", "evidence", "domain"),
    *("model", "model_fingerprint", "policy", "verdict", "result"),
)
_VERDICTS = sa.table("verdicts", *map(sa.column, _COLUMNS))
_DECISIONS = sa.table("decisions", *map(sa.column, ("id", "choice", "who", "why", "decided_at")))
_BOTH = _VERDICTS.outerjoin(_DECISIONS, _VERDICTS.c.id == _DECISIONS.c.id)
_ROWS = sa.select(*_VERDICTS.c, *list(_DECISIONS.c)[1:]).select_from(_BOTH)
_OUTCOME = sa.func.coalesce(_DECISIONS.c.choice, _VERDICTS.c.verdict)


class Window(NamedTuple):
    """Consecutive verdicts: the times of the first and the last, and their number by outcome."""

    begin: str
    end: str
    counts: dict[str, int]


class DecidedError(GateError):
    """A review that has a decision already, which stands."""

    def __init__(self, judged: Judged) -> None:
        assert judged.decision is not None
        self.decision = judged.decision
        found = judged.decision
        super().__init__(
            f"{judged.id}: decided already: {found.choice} by {found.who}, {found.decided_at}: {found.why};"
            " allowed: one decision a review"
        )


class VerdictStore(Database):
    """A store of verdicts and decisions. Arguments and errors are those of ``CostStore``, but ``create`` is False."""

    schema = Schema(
        holds="verdicts",
        begin="`solvent gate judge CLAIMS --policy standard --store PATH`",
        head="0001",
        version_table="solvent_gate_version",
        migrations="solvent.gate:migrations",
        tables=frozenset({"verdicts", "decisions"}),
        application=0x534F4C47,  # "SOLG"
    )

    def __init__(self, place: str | os.PathLike[str], *, create: bool = False) -> None:
        super().__init__(place, create=create)

    def record(self, judged: Iterable[Judged]) -> list[Judged]:
        """Add verdicts, and return them as the store has them: a claim that was judged before keeps its decision."""
        rows = list(judged)
        values = [_values(row) for row in rows]
        kept: dict[str, Judged] = {}
        with self._writing("verdicts") as session:
            if session.get_bind().dialect.name == "postgresql":  # numbers rise in the order of the commits
                session.execute(sa.text("LOCK TABLE verdicts IN SHARE ROW EXCLUSIVE MODE"))
            if values:
                session.execute(_insert(_VERDICTS, values[0]), values)
            for start in range(0, len(rows), _AT_ONCE):
                ids = [row.id for row in rows[start : start + _AT_ONCE]]
                kept |= {row.id: row for row in _found(session, _VERDICTS.c.id.in_(ids))}
        return [kept[row.id] for row in rows]

    def verdicts(self, *, limit: int | None = None, after: int = 0) -> list[Judged]:
        """Return verdicts with a ``number`` above ``after``, oldest first; at most ``limit``."""
        with self._reading() as session:
            return _found(session, _VERDICTS.c.number > after, limit=limit)

    def waiting(self, *, limit: int | None = None, after: int = 0) -> list[Judged]:
        """Return reviews without a decision, as ``verdicts`` does."""
        waits = (_VERDICTS.c.verdict == "review", _DECISIONS.c.id.is_(None), _VERDICTS.c.number > after)
        with self._reading() as session:
            return _found(session, *waits, limit=limit)

    def decided(self) -> list[Judged]:
        """Return reviews with a decision, oldest first."""
        with self._reading() as session:
            return _found(session, _DECISIONS.c.id.is_not(None))

    def counts(self) -> dict[str, int]:
        """Return the number of verdicts by outcome."""
        with self._reading() as session:
            rows = session.execute(sa.select(_OUTCOME, sa.func.count()).select_from(_BOTH).group_by(_OUTCOME))
            return {row[0]: row[1] for row in rows}

    def windows(self, size: int) -> list[Window]:
        """Return the outcomes of windows of ``size`` consecutive verdicts, oldest first; the last may have fewer."""
        window = (sa.func.row_number().over(order_by=_VERDICTS.c.number) - 1) // sa.literal(size)
        each = (
            sa.select(window.label("window"), _VERDICTS.c.judged_at, _OUTCOME.label("outcome"))
            .select_from(_BOTH)
            .subquery()
        )
        counts = (sa.func.count().filter(each.c.outcome == outcome) for outcome in _OUTCOMES)
        query = sa.select(sa.func.min(each.c.judged_at), sa.func.max(each.c.judged_at), *counts)
        with self._reading() as session:
            rows = session.execute(query.group_by(each.c.window).order_by(each.c.window))
            return [Window(row[0], row[1], dict(zip(_OUTCOMES, row[2:], strict=True))) for row in rows]

    def find(self, key: str) -> Judged:
        """Return the verdict with this id, or whose id alone begins with ``key``."""
        # Only hexadecimal digits: % and _ would match others.
        whole = key if key and not key.strip("0123456789abcdef") else "-"
        with self._reading() as session:
            found = _found(session, _VERDICTS.c.id.like(f"{whole}%"), limit=2)
        if len(found) != 1:
            what = "more than one id begins so" if found else "no such id"
            raise GateError(f"{key!r:.40}: {what} in {self.place}; allowed: an id of `solvent gate reviews`")
        return found[0]

    def decide(self, key: str, choice: str, *, who: str, why: str) -> Judged:
        """Decide a review, and return it.

        Raises:
            DecidedError: it is decided already.
            GateError: there is no such review, or an argument is wrong.
        """
        if choice not in ("accept", "decline"):
            raise GateError(f"decision: got {choice!r:.40}; allowed: accept, decline")
        said = {"who": who, "why": why}
        for name, text in said.items():
            if not text.strip() or len(text) > _LONGEST[name]:
                raise GateError(
                    f"{name}: got {text!r:.40}; allowed: a text of 1 to {_LONGEST[name]} characters"
                )
        found = self.find(key)
        if found.verdict != "review":
            raise GateError(f"{found.id}: the verdict is {found.verdict}; allowed: a review")
        values = {"id": found.id, "choice": choice, "decided_at": now()}
        values |= {name: _storable(text.strip()) for name, text in said.items()}
        with self._writing(f"decision on {found.id}") as session:
            made = session.execute(_insert(_DECISIONS, values), values).rowcount  # type: ignore[attr-defined]
            (current,) = _found(session, _VERDICTS.c.id == found.id)
        if not made:
            raise DecidedError(current)
        return current


def _insert(table: sa.TableClause, values: dict[str, str]) -> sa.TextClause:
    """Return the statement that adds a row, unless there is one of its id."""
    names = ", ".join(values)
    places = ", ".join(f":{name}" for name in values)
    return sa.text(f"INSERT INTO {table.name} ({names}) VALUES ({places}) ON CONFLICT DO NOTHING")


def _found(session: Session, *where: sa.ColumnElement[bool], limit: int | None = None) -> list[Judged]:
    rows = session.execute(_ROWS.where(*where).order_by(_VERDICTS.c.number).limit(limit))
    return [_judged(row) for row in rows]


def _values(row: Judged) -> dict[str, str]:
    try:
        result = json.dumps(dict(row.result), allow_nan=False)
    except ValueError:
        raise GateError(
            f"{row.id}: result: got a number that is not finite; allowed: finite numbers"
        ) from None
    return {
        "id": row.id,
        "judged_at": row.judged_at,
        "name": _storable(row.name),
        "pages": json.dumps(row.pages),
        "claim": json.dumps(row.claim),
        "evidence": json.dumps(row.evidence),
        "domain": _storable(row.domain),
        "model": row.model,
        "model_fingerprint": row.model_fingerprint,
        "policy": json.dumps(row.policy.to_dict()),
        "verdict": row.verdict,
        "result": result,
    }


def _judged(row: sa.Row[Any]) -> Judged:
    return Judged(
        id=row.id,
        name=row.name,
        claim=json.loads(row.claim),
        evidence=tuple(json.loads(row.evidence)),
        pages=tuple(json.loads(row.pages)),
        domain=row.domain,
        model=row.model,
        model_fingerprint=row.model_fingerprint,
        policy=_policy(row.policy),
        result=json.loads(row.result),
        judged_at=row.judged_at,
        number=row.number,
        decision=None if row.choice is None else Decision(row.choice, row.who, row.why, row.decided_at),
    )


@functools.lru_cache(maxsize=100)
def _policy(text: str) -> Policy:
    return Policy.from_dict(json.loads(text))


def _storable(text: str) -> str:
    """Return a text without lone surrogates and NUL, which a database can't store."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\0", "\N{REPLACEMENT CHARACTER}")
