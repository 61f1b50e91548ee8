"""Verdicts in a SQLite file, and the decisions of people on those under review.

Every verdict is kept, because thresholds are watched over time (``drift``). A verdict ``review`` waits until somebody
accepts or declines it. Such a decision names a person and a reason, is final, and is a label to learn from
(``learning``). The command line and any page decide through the same ``VerdictStore.decide``.

Two people may decide at once: SQLite gives one of them the write lock, and the other gets a ``DecidedError`` with the
decision that stands. Triggers refuse a decision on anything but a review, and every change of a decision.

Source: *Deterministic Policy Gates for Stochastic Systems*, "Human-in-the-loop policy tuning". Known approximation: the
name of a person is what the caller says; the file's permissions decide who may write it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import hashlib
import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from solvent.extras import upgrade
from solvent.gate.errors import GateError
from solvent.gate.measurement import RANK_R, TOP_K
from solvent.gate.policy import Policy, Verdict, rounded

__all__ = ["DecidedError", "Decision", "Judged", "VerdictStore", "judged_id"]

Choice = Literal["accept", "decline"]

_VERSION = 1
_APPLICATION = 0x534F4C47  # "SOLG", which marks the file
_WAIT = 30.0  # seconds to wait for another process's write
_LONGEST = {"who": 200, "why": 2000}
_SCHEMA = f"""
PRAGMA application_id = {_APPLICATION};
PRAGMA user_version = {_VERSION};
CREATE TABLE verdicts (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    judged_at TEXT NOT NULL,
    name TEXT NOT NULL,
    pages TEXT NOT NULL,
    claim TEXT NOT NULL,
    evidence TEXT NOT NULL,
    domain TEXT NOT NULL,
    model TEXT NOT NULL,
    model_fingerprint TEXT NOT NULL,
    policy TEXT NOT NULL,
    verdict TEXT NOT NULL CHECK (verdict IN ('accept', 'review', 'reject')),
    result TEXT NOT NULL
);
CREATE INDEX by_verdict ON verdicts (verdict, number);
CREATE TABLE decisions (
    id TEXT PRIMARY KEY REFERENCES verdicts (id),
    choice TEXT NOT NULL CHECK (choice IN ('accept', 'decline')),
    who TEXT NOT NULL,
    why TEXT NOT NULL,
    decided_at TEXT NOT NULL
);
CREATE TRIGGER reviews_only BEFORE INSERT ON decisions
WHEN (SELECT verdict FROM verdicts WHERE id = NEW.id) IS NOT 'review'
BEGIN SELECT RAISE(ABORT, 'only a review is decided'); END;
CREATE TRIGGER decisions_stand BEFORE UPDATE ON decisions
BEGIN SELECT RAISE(ABORT, 'a decision stands'); END;
CREATE TRIGGER decisions_stay BEFORE DELETE ON decisions
BEGIN SELECT RAISE(ABORT, 'a decision stands'); END;
"""
_ROWS = "SELECT v.*, d.choice, d.who, d.why, d.decided_at FROM verdicts v LEFT JOIN decisions d USING (id)"


@dataclasses.dataclass(frozen=True)
class Decision:
    """What a person decided on a review, when and why."""

    choice: Choice
    who: str
    why: str
    decided_at: str


@dataclasses.dataclass(frozen=True)
class Judged:
    """A claim and its verdict.

    Attributes:
        id: sixteen digits of a hash of policy, domain, model, claim and evidence (``judged_id``).
        name: the claim's id in its data set.
        claim, evidence, pages: as in ``datasets.Sample``.
        domain: domain of use.
        model, model_fingerprint: the embedding model.
        policy: the policy applied.
        result: what ``evaluate_text`` returned.
        judged_at: time in UTC, ISO 8601.
        number: place in the store, from 1; 0 outside of it.
        decision: the decision on a review, if there is one.
    """

    id: str
    name: str
    claim: str
    evidence: tuple[str, ...]
    pages: tuple[str, ...]
    domain: str
    model: str
    model_fingerprint: str
    policy: Policy
    result: Mapping[str, Any]
    judged_at: str
    number: int = 0
    decision: Decision | None = None

    @property
    def verdict(self) -> Verdict:
        """The gate's verdict, before any decision."""
        found: Verdict = self.result["verdict"]
        return found

    @property
    def outcome(self) -> str:
        """The verdict, or the decision on it: ``accept``, ``review``, ``reject`` or ``decline``."""
        return self.verdict if self.decision is None else self.decision.choice

    @property
    def is_measured(self) -> bool:
        """False for bad data, which has no energy of its own."""
        return not self.result["reasons"][0].startswith("bad data:")

    @property
    def fired(self) -> list[str]:
        """The names of the checks that object."""
        return [check["name"] for check in self.result["checks"] if check["fired"]]

    @property
    def energy_gap(self) -> float:
        """The energy gap, 6 decimals."""
        return float(self.result["energy_gap"])

    @property
    def oracle_energy(self) -> float:
        """The energy of the oracle."""
        return rounded(self.result["hallucination_energy"] - self.energy_gap)

    @property
    def compared(self) -> float:
        """The value that the policy compared."""
        return self.energy_gap if self.policy.measure == "energy_gap" else self.result["hallucination_energy"]

    @property
    def trivial(self) -> bool:
        """True if the oracle's energy is 0 by construction."""
        return len(self.evidence) <= (self.policy.rank_r or RANK_R)

    @property
    def setting(self) -> tuple[Any, ...]:
        """Domain, model, oracle, spans and directions; only values of the same setting can be compared."""
        policy = self.policy
        top_k, rank_r = policy.top_k or TOP_K, policy.rank_r or RANK_R
        return self.domain, self.model_fingerprint, policy.oracle, top_k, rank_r


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


def judged_id(policy: Policy, domain: str, fingerprint: str, claim: str, evidence: Iterable[str]) -> str:
    """Return the id of a verdict; the same claim under the same policy has the same one."""
    text = json.dumps([policy.to_dict(), domain, fingerprint, claim, *evidence], sort_keys=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:16]


class VerdictStore:
    """Verdicts and decisions in the SQLite file at ``path``, which ``create`` begins if there is none.

    Each call has a connection and a transaction of its own, so threads and processes may share the file.

    Raises:
        GateError: there is no file, or it is another kind of file or of a newer version.
    """

    def __init__(self, path: str | os.PathLike[str], *, create: bool = False) -> None:
        self.path = Path(path)
        if not create and not self.path.is_file():
            raise GateError(
                f"{self.path}: no store yet; allowed: what `solvent gate judge CLAIMS --store PATH` begins"
            )
        with self._transaction(write=create) as connection:
            if create and not connection.execute("PRAGMA schema_version").fetchone()[0]:
                for statement in _statements(_SCHEMA):
                    connection.execute(statement)
            mark = connection.execute("PRAGMA application_id").fetchone()[0]
            version = connection.execute("PRAGMA user_version").fetchone()[0]
        if mark != _APPLICATION:
            raise GateError(f"{self.path}: not a store of verdicts; allowed: one of `solvent gate judge`")
        if version != _VERSION:
            raise GateError(
                f"{self.path}: a store of version {version}; allowed: {_VERSION}, or a newer Solvent"
                f" (`{upgrade()}`)"
            )

    def record(self, judged: Iterable[Judged]) -> list[Judged]:
        """Add verdicts, and return them as the store has them: a claim that was judged before keeps its decision."""
        rows = list(judged)
        with self._transaction(write=True) as connection:
            connection.executemany(
                "INSERT OR IGNORE INTO verdicts"
                " (id, judged_at, name, pages, claim, evidence, domain, model, model_fingerprint, policy, verdict,"
                " result) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [_values(row) for row in rows],
            )
            return [_one(connection, row.id) for row in rows]

    def verdicts(self, *, limit: int = -1, after: int = 0) -> list[Judged]:
        """Return verdicts with a ``number`` above ``after``, oldest first; at most ``limit`` unless it is negative."""
        return self._rows("v.number > ?", after, limit=limit)

    def waiting(self, *, limit: int = -1, after: int = 0) -> list[Judged]:
        """Return reviews without a decision, as ``verdicts`` does."""
        return self._rows("v.verdict = 'review' AND d.id IS NULL AND v.number > ?", after, limit=limit)

    def decided(self) -> list[Judged]:
        """Return reviews with a decision, oldest first."""
        return self._rows("d.id IS NOT NULL")

    def counts(self) -> dict[str, int]:
        """Return the number of verdicts by outcome."""
        with self._transaction() as connection:
            return dict(
                connection.execute(
                    "SELECT coalesce(d.choice, v.verdict) AS outcome, count(*)"
                    " FROM verdicts v LEFT JOIN decisions d USING (id) GROUP BY outcome"
                ).fetchall()
            )

    def find(self, key: str) -> Judged:
        """Return the verdict with this id, or whose id alone begins with ``key``."""
        # Only hexadecimal digits: % and _ would match others.
        whole = key if key and not key.strip("0123456789abcdef") else "-"
        found = self._rows("v.id LIKE ?", f"{whole}%", limit=2)
        if len(found) != 1:
            what = "more than one id begins so" if found else "no such id"
            raise GateError(f"{key!r:.40}: {what} in {self.path}; allowed: an id of `solvent gate reviews`")
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
        with self._transaction(write=True) as connection:
            # Read under the write lock: nobody decides between this line and the next.
            current = _one(connection, found.id)
            if current.decision is not None:
                raise DecidedError(current)
            connection.execute(
                "INSERT INTO decisions (id, choice, who, why, decided_at) VALUES (?, ?, ?, ?, ?)",
                (found.id, choice, _storable(who.strip()), _storable(why.strip()), now()),
            )
            return _one(connection, found.id)

    def _rows(self, where: str, *values: Any, limit: int = -1) -> list[Judged]:
        with self._transaction() as connection:
            rows = connection.execute(f"{_ROWS} WHERE {where} ORDER BY v.number LIMIT ?", (*values, limit))
            return [_judged(row) for row in rows]

    @contextlib.contextmanager
    def _transaction(self, *, write: bool = False) -> Iterator[sqlite3.Connection]:
        """Run a block in one transaction, under the write lock if it writes, and undo it if it fails."""
        try:
            uri = f"{self.path.absolute().as_uri()}?mode={'rwc' if write else 'rw'}"
            with contextlib.closing(
                sqlite3.connect(uri, uri=True, timeout=_WAIT, isolation_level=None)
            ) as connection:
                connection.row_factory = sqlite3.Row
                connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
                try:
                    yield connection
                except BaseException:
                    connection.execute("ROLLBACK")
                    raise
                connection.execute("COMMIT")
        except (sqlite3.Error, ValueError) as error:
            if isinstance(error, GateError):
                raise
            raise GateError(
                f"{self.path}: {error}; allowed: a store of verdicts that can be written"
            ) from None


def now() -> str:
    """Return the time in UTC, ISO 8601 to the second."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def _statements(script: str) -> Iterator[str]:
    """Yield the statements of a script; ``executescript`` would end the transaction."""
    part = ""
    for line in script.splitlines(keepends=True):
        part += line
        if sqlite3.complete_statement(part):
            yield part
            part = ""


def _one(connection: sqlite3.Connection, key: str) -> Judged:
    return _judged(connection.execute(f"{_ROWS} WHERE v.id = ?", (key,)).fetchone())


def _values(row: Judged) -> tuple[str, ...]:
    return (
        row.id,
        row.judged_at,
        _storable(row.name),
        json.dumps(row.pages),
        json.dumps(row.claim),
        json.dumps(row.evidence),
        _storable(row.domain),
        row.model,
        row.model_fingerprint,
        json.dumps(row.policy.to_dict()),
        row.verdict,
        json.dumps(dict(row.result)),
    )


def _judged(row: sqlite3.Row) -> Judged:
    decision = None
    if row["choice"] is not None:
        decision = Decision(row["choice"], row["who"], row["why"], row["decided_at"])
    return Judged(
        id=row["id"],
        name=row["name"],
        claim=json.loads(row["claim"]),
        evidence=tuple(json.loads(row["evidence"])),
        pages=tuple(json.loads(row["pages"])),
        domain=row["domain"],
        model=row["model"],
        model_fingerprint=row["model_fingerprint"],
        policy=Policy.from_dict(json.loads(row["policy"])),
        result=json.loads(row["result"]),
        judged_at=row["judged_at"],
        number=row["number"],
        decision=decision,
    )


def _storable(text: str) -> str:
    """Return a text without lone surrogates, which SQLite can't store."""
    return text.encode("utf-8", "replace").decode("utf-8")
