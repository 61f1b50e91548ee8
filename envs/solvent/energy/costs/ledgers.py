"""Reads the environment's ledgers into a store: ``energy_cost_proposals.jsonl`` and ``cost_discomfort_log.jsonl``.

One JSON object a line, keys as the source's columns, plus ``design_id``. Of proposals only pending ones are filed: a
lab's simulated reviews are that lab's history and bind nobody. A filed proposal's ``created_at`` is the time of filing,
because its review runs on the human's clock; the lab's own time is in ``ledger_lines``. Lines that were read before are
skipped, so a ledger can be read again when it has grown.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import os
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from solvent.energy.costs.lifecycle import Status, StoreError
from solvent.energy.costs.models import CostDiscomfort, EnergyCostProposal, LedgerLine
from solvent.energy.costs.store import CostStore

__all__ = ["Intake", "file_proposals_jsonl", "log_discomfort_jsonl"]


class Intake(NamedTuple):
    """The rows made of a ledger's lines, and for each other line its number and why it was skipped."""

    filed: list[EnergyCostProposal] | list[CostDiscomfort]
    skipped: list[tuple[int, str]]


def file_proposals_jsonl(store: CostStore, path: str | os.PathLike[str]) -> Intake:
    """File the pending proposals of a ledger, each in a transaction of its own.

    Raises:
        OSError: the file can't be read.
        ValueError: a line is no proposal; the message names file and line. Lines before it are filed.
    """
    filed: list[EnergyCostProposal] = []
    skipped: list[tuple[int, str]] = []
    for origin, line in _lines(Path(path), "proposal"):
        status = line.text("status")
        if status != Status.PENDING:
            why = f"is {status} in the ledger: the lab's own review, which binds nobody"
        elif store.knows(origin.digest):
            why = "was filed before"
        else:
            proposal = _proposal(line)
            try:
                filed.append(store.file_proposal(proposal, origin))
                continue
            except StoreError as error:
                why = str(error)
        skipped.append((origin.line, why))
    return Intake(filed, skipped)


def log_discomfort_jsonl(store: CostStore, path: str | os.PathLike[str]) -> Intake:
    """Log a ledger's lines of discomfort, each in a transaction of its own.

    Raises:
        OSError: the file can't be read.
        ValueError: a line is no discomfort; the message names file and line. Lines before it are logged.
    """
    logged: list[CostDiscomfort] = []
    skipped: list[tuple[int, str]] = []
    for origin, line in _lines(Path(path), "discomfort"):
        if store.knows(origin.digest):
            skipped.append((origin.line, "was logged before"))
            continue
        try:
            logged.append(store.log_discomfort(_discomfort(line), origin))
        except StoreError as error:
            raise ValueError(f"{line.place}: {error}") from None
    return Intake(logged, skipped)


class _Line(NamedTuple):
    """One object of a ledger; values that can't be read are errors that name place and key."""

    place: str
    row: Mapping[str, Any]

    def text(self, key: str) -> str:
        value = self.row.get(key)
        if not isinstance(value, str):
            raise self.wrong(key, "a text")
        return value

    def number(self, key: str) -> float:
        value = self.row.get(key)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.wrong(key, "a number")
        return float(value)

    def optional(self, key: str, read: Callable[[Any], Any], allowed: str) -> Any:
        value = self.row.get(key)
        try:
            return None if value is None else read(value)
        except (TypeError, ValueError):
            raise self.wrong(key, allowed) from None

    def wrong(self, key: str, allowed: str) -> ValueError:
        return ValueError(f"{self.place}: {key}: got {self.row.get(key)!r:.60}; allowed: {allowed}")


def _lines(path: Path, kind: str) -> Iterator[tuple[LedgerLine, _Line]]:
    seen: Counter[str] = Counter()
    with path.open(encoding="utf-8") as ledger:
        for number, line in enumerate(ledger, start=1):
            text = line.strip()
            if not text:
                continue
            place = f"{path}, line {number}"
            try:
                row = json.loads(text)
            except ValueError as error:
                raise ValueError(f"{place}: no JSON ({error})") from None
            if not isinstance(row, Mapping):
                raise ValueError(f"{place}: got {row!r:.60}; allowed: an object")  # noqa: TRY004 - a bad file
            # Two episodes may have equal lines; the count tells them apart.
            seen[text] += 1
            origin = LedgerLine(
                digest=hashlib.sha256(f"{kind} {seen[text]} {text}".encode()).hexdigest(),
                ledger=path.name,
                line=number,
                design_id=None if row.get("design_id") is None else str(row["design_id"]),
                logged_at=None if row.get("created_at") is None else str(row["created_at"]),
            )
            yield origin, _Line(place, row)


def _proposal(line: _Line) -> EnergyCostProposal:
    evidence = line.row.get("evidence")
    if not isinstance(evidence, list) or not all(isinstance(item, Mapping) for item in evidence):
        raise line.wrong("evidence", "a list of {source, summary}")
    return EnergyCostProposal(
        target_type=line.text("target_type"),
        target_name=line.text("target_name"),
        current_cost=line.number("current_cost"),
        suggested_min=line.number("suggested_min"),
        suggested_max=line.number("suggested_max"),
        direction=line.text("direction"),
        rationale=line.text("rationale"),
        confidence=line.number("confidence"),
        evidence=[dict(item) for item in evidence],
        heartbeat_refs=line.optional("heartbeat_refs", lambda refs: [int(beat) for beat in refs], "numbers"),
        memory_refs=line.optional("memory_refs", lambda refs: [uuid.UUID(str(ref)) for ref in refs], "UUIDs"),
    )


def _discomfort(line: _Line) -> CostDiscomfort:
    value, similar = line.row.get("estimated_value"), line.row.get("similar_deferrals_recent")
    return CostDiscomfort(
        heartbeat_number=int(line.number("heartbeat_number")),
        action_considered=line.text("action_considered"),
        estimated_value=None if value is None else line.number("estimated_value"),
        energy_cost=line.number("energy_cost"),
        energy_available=line.number("energy_available"),
        deferral_reason=line.text("deferral_reason"),
        agent_notes=line.optional("agent_notes", str, "a text"),
        similar_deferrals_recent=0 if similar is None else int(line.number("similar_deferrals_recent")),
        created_at=line.optional(
            "created_at", lambda moment: datetime.datetime.fromisoformat(str(moment)), "a time in ISO 8601"
        ),
    )
