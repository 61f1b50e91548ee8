"""Read the environment's ledgers, ``energy_cost_proposals.jsonl`` and ``cost_discomfort_log.jsonl``, into a store.

A line is one JSON object with the source's columns as keys, plus ``design_id``. Only pending proposals are filed: a
lab's simulated reviews belong to that lab. A filed proposal's ``created_at`` is the time of filing, because its review
runs on the human's clock; ``ledger_lines`` keeps the lab's own time. Lines that were read before are skipped, so a
ledger that has grown can be read again.
"""

from __future__ import annotations

import datetime
import hashlib
import os
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from solvent.database import StoreError
from solvent.energy.costs.lifecycle import Status
from solvent.energy.costs.models import EnergyCostProposal, LedgerLine
from solvent.energy.costs.records import CostDiscomfort, Reflection
from solvent.energy.costs.store import CostStore
from solvent.files import input_lines, strict_json

__all__ = [
    "Intake",
    "Line",
    "discomfort_in",
    "file_proposals",
    "file_proposals_jsonl",
    "log_discomfort_jsonl",
    "log_discomforts",
    "proposals_in",
]


class Intake(NamedTuple):
    """The rows filed, and the number of each skipped line with the reason."""

    filed: list[EnergyCostProposal] | list[CostDiscomfort]
    skipped: list[tuple[int, str]]


class Line(NamedTuple):
    """A line of a ledger: its place for messages, its origin, and its row, or why it is none."""

    place: str
    origin: LedgerLine
    row: Any


def file_proposals_jsonl(store: CostStore, path: str | os.PathLike[str]) -> Intake:
    """File the pending proposals of a ledger, each in its own transaction; nothing if a line can't be read.

    Raises:
        OSError: the file can't be read.
        ValueError: a line is not a proposal; the message names file and line.
    """
    return file_proposals(store, proposals_in(path))


def proposals_in(path: str | os.PathLike[str]) -> list[Line]:
    """Return the proposals of a ledger, and why lines that are none are skipped. Errors are as above."""
    lines = []
    for place, origin, row in _lines(Path(path), "proposal"):
        status = _values(place, row, {"status": TEXT})["status"]
        if status == Status.PENDING:
            lines.append(Line(place, origin, EnergyCostProposal(**_values(place, row, PROPOSAL))))
        else:
            why = f"is {status} in the ledger: the lab's own review, which binds nobody"
            lines.append(Line(place, origin, why))
    return lines


def file_proposals(store: CostStore, lines: Iterable[Line]) -> Intake:
    """File what ``proposals_in`` found."""
    filed: list[EnergyCostProposal] = []
    skipped: list[tuple[int, str]] = []
    for _, origin, proposal in lines:
        why = "was filed before"
        if isinstance(proposal, str):
            why = proposal
        elif not store.knows(origin.digest):
            try:
                filed.append(store.file_proposal(proposal, _reflection(proposal, origin), origin=origin))
                continue
            except StoreError as error:
                why = str(error)
        skipped.append((origin.line, why))
    return Intake(filed, skipped)


def _reflection(proposal: EnergyCostProposal, origin: LedgerLine) -> Reflection:
    """Return the reflection behind a lab's proposal: there, ``propose`` runs only right after ``reflect``."""
    return Reflection(
        episode=origin.design_id or origin.ledger,
        heartbeat_number=max(proposal.heartbeat_refs or (0,)),
        agent_notes="`reflect` in the lab, right before `propose`",
    )


def log_discomfort_jsonl(store: CostStore, path: str | os.PathLike[str]) -> Intake:
    """Log the discomfort in a ledger, each line in its own transaction; nothing if a line can't be read.

    Raises:
        OSError: the file can't be read.
        ValueError: a line is not discomfort; the message names file and line.
    """
    return log_discomforts(store, discomfort_in(path))


def discomfort_in(path: str | os.PathLike[str]) -> list[Line]:
    """Return the discomfort in a ledger. Errors are as above."""
    return [
        Line(place, origin, CostDiscomfort(**_values(place, row, DISCOMFORT)))
        for place, origin, row in _lines(Path(path), "discomfort")
    ]


def log_discomforts(store: CostStore, lines: Iterable[Line]) -> Intake:
    """Log what ``discomfort_in`` found; ValueError for a value that the database refuses, after the lines before it."""
    logged: list[CostDiscomfort] = []
    skipped: list[tuple[int, str]] = []
    for place, origin, discomfort in lines:
        if store.knows(origin.digest):
            skipped.append((origin.line, "was logged before"))
            continue
        try:
            logged.append(store.log_discomfort(discomfort, origin=origin))
        except StoreError as error:
            raise ValueError(f"{place}: {error}") from None
    return Intake(logged, skipped)


def _lines(path: Path, kind: str) -> Iterator[tuple[str, LedgerLine, Mapping[str, Any]]]:
    seen: Counter[str] = Counter()
    for number, line in input_lines(path):
        place = f"{path}, line {number}"
        try:
            text = line.decode("utf-8").strip()
            row = strict_json(text) if text else None
        except ValueError as error:
            raise ValueError(f"{place}: no JSON ({error})") from None
        if not text:
            continue
        if not isinstance(row, Mapping):
            raise ValueError(f"{place}: got {row!r:.60}; allowed: an object")  # noqa: TRY004 - a bad file
        # Two episodes may have equal lines: the count keeps their digests apart.
        seen[text] += 1
        origin = LedgerLine(
            digest=hashlib.sha256(f"{kind} {seen[text]} {text}".encode()).hexdigest(),
            ledger=path.name,
            line=number,
            design_id=None if row.get("design_id") is None else str(row["design_id"]),
            logged_at=None if row.get("created_at") is None else str(row["created_at"]),
        )
        yield place, origin, row


def _values(place: str, row: Mapping[str, Any], readers: Mapping[str, Reader]) -> dict[str, Any]:
    values = {}
    for key, (read, allowed) in readers.items():
        value = row.get(key)
        if value is None and key in OPTIONAL:
            continue
        try:
            values[key] = read(value)
        except (TypeError, ValueError, OverflowError):
            raise ValueError(f"{place}: {key}: got {value!r:.60}; allowed: {allowed}") from None
    return values


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError
    return float(value)


def _evidence(value: Any) -> list[dict[str, str]]:
    if not isinstance(value, list) or not all(isinstance(item, Mapping) for item in value):
        raise TypeError
    return [dict(item) for item in value]


Reader = tuple[Callable[[Any], Any], str]
TEXT: Reader = (_text, "a text")
NUMBER: Reader = (_number, "a number")
COUNT: Reader = (lambda value: int(_number(value)), "a number")
PROPOSAL: dict[str, Reader] = {
    **dict.fromkeys(("target_type", "target_name", "direction", "rationale"), TEXT),
    **dict.fromkeys(("current_cost", "suggested_min", "suggested_max", "confidence"), NUMBER),
    "evidence": (_evidence, "a list of {source, summary}"),
    "heartbeat_refs": (lambda refs: [int(beat) for beat in refs], "a list of whole numbers"),
    "memory_refs": (lambda refs: [uuid.UUID(str(ref)) for ref in refs], "a list of UUIDs"),
}
DISCOMFORT: dict[str, Reader] = {
    **dict.fromkeys(("action_considered", "deferral_reason"), TEXT),
    **dict.fromkeys(("energy_cost", "energy_available", "estimated_value"), NUMBER),
    **dict.fromkeys(("heartbeat_number", "similar_deferrals_recent"), COUNT),
    "agent_notes": (str, "a text"),
    "created_at": (lambda moment: datetime.datetime.fromisoformat(str(moment)), "a time in ISO 8601"),
}
OPTIONAL = {
    *("heartbeat_refs", "memory_refs", "estimated_value", "similar_deferrals_recent", "agent_notes"),
    "created_at",
}
