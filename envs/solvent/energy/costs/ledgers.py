"""Reading the environment's ledgers into a store: ``energy_cost_proposals.jsonl`` and ``cost_discomfort_log.jsonl``.

One JSON object a line, keys as the source's columns, plus ``design_id``. Of proposals only pending ones are filed: what
a lab's simulated reviewer decided is that lab's history and binds nobody. A filed proposal's ``created_at`` is when it
was filed, because its review runs on the human's clock; the lab's own time is kept beside it (``ledger_lines``). A line
that was read in before is skipped, so a ledger can be read again when it has grown.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import os
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from solvent.energy.costs.lifecycle import Status, StoreError
from solvent.energy.costs.models import CostDiscomfort, EnergyCostProposal
from solvent.energy.costs.store import CostStore, Origin

__all__ = ["Intake", "file_proposals_jsonl", "log_discomfort_jsonl"]


class Intake(NamedTuple):
    """What became of a ledger's lines: the rows that were made, and for each other line why not."""

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
    for origin, row in _lines(Path(path), "proposal"):
        status = _text(row, "status", path, origin.line)
        if status != Status.PENDING:
            skipped.append(
                (origin.line, f"is {status} in the ledger: the lab's own review, which binds nobody")
            )
        elif store.knows(origin.digest):
            skipped.append((origin.line, "was filed before"))
        else:
            arguments = _proposal(row, path, origin.line)
            try:
                filed.append(store.file_proposal(**arguments, origin=origin))
            except StoreError as error:
                skipped.append((origin.line, str(error)))
    return Intake(filed, skipped)


def log_discomfort_jsonl(store: CostStore, path: str | os.PathLike[str]) -> Intake:
    """Log a ledger's lines of discomfort, each in a transaction of its own.

    Raises:
        OSError: the file can't be read.
        ValueError: a line is no discomfort; the message names file and line. Lines before it are logged.
    """
    logged: list[CostDiscomfort] = []
    skipped: list[tuple[int, str]] = []
    for origin, row in _lines(Path(path), "discomfort"):
        if store.knows(origin.digest):
            skipped.append((origin.line, "was logged before"))
            continue
        arguments = _discomfort(row, path, origin.line)
        try:
            logged.append(store.log_discomfort(**arguments, origin=origin))
        except StoreError as error:
            raise ValueError(f"{path}, line {origin.line}: {error}") from None
    return Intake(logged, skipped)


def _lines(path: Path, kind: str) -> Iterator[tuple[Origin, Mapping[str, Any]]]:
    seen: Counter[str] = Counter()
    with path.open(encoding="utf-8") as ledger:
        for number, line in enumerate(ledger, start=1):
            text = line.strip()
            if not text:
                continue
            try:
                row = json.loads(text)
            except ValueError as error:
                raise ValueError(f"{path}, line {number}: no JSON ({error})") from None
            if not isinstance(row, Mapping):
                raise ValueError(  # noqa: TRY004 - a bad file, not a bad argument
                    f"{path}, line {number}: got {row!r:.60}; allowed: an object"
                )
            # Two episodes may say the very same; the count keeps their lines apart.
            seen[text] += 1
            digest = hashlib.sha256(f"{kind} {seen[text]} {text}".encode()).hexdigest()
            design, logged = row.get("design_id"), row.get("created_at")
            yield (
                Origin(
                    digest,
                    path.name,
                    number,
                    None if design is None else str(design),
                    None if logged is None else str(logged),
                ),
                row,
            )


def _proposal(row: Mapping[str, Any], path: Any, line: int) -> dict[str, Any]:
    texts = {
        key: _text(row, key, path, line) for key in ("target_type", "target_name", "direction", "rationale")
    }
    numbers = {
        key: _number(row, key, path, line)
        for key in ("current_cost", "suggested_min", "suggested_max", "confidence")
    }
    evidence = row.get("evidence")
    if not isinstance(evidence, list) or not all(isinstance(item, Mapping) for item in evidence):
        raise _wrong(path, line, "evidence", evidence, "a list of {source, summary}")
    try:
        beats = None if row.get("heartbeat_refs") is None else [int(beat) for beat in row["heartbeat_refs"]]
        memories = (
            None if row.get("memory_refs") is None else [uuid.UUID(str(ref)) for ref in row["memory_refs"]]
        )
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path}, line {line}: heartbeat_refs or memory_refs: {error}") from None
    return {**texts, **numbers, "evidence": evidence, "heartbeat_refs": beats, "memory_refs": memories}


def _discomfort(row: Mapping[str, Any], path: Any, line: int) -> dict[str, Any]:
    value = row.get("estimated_value")
    similar = row.get("similar_deferrals_recent")
    notes = row.get("agent_notes")
    moment = row.get("created_at")
    try:
        created = None if moment is None else datetime.datetime.fromisoformat(str(moment))
    except ValueError:
        raise _wrong(path, line, "created_at", moment, "a time in ISO 8601") from None
    return {
        "heartbeat_number": int(_number(row, "heartbeat_number", path, line)),
        "action_considered": _text(row, "action_considered", path, line),
        "estimated_value": None if value is None else _number(row, "estimated_value", path, line),
        "energy_cost": _number(row, "energy_cost", path, line),
        "energy_available": _number(row, "energy_available", path, line),
        "deferral_reason": _text(row, "deferral_reason", path, line),
        "agent_notes": None if notes is None else str(notes),
        "similar_deferrals_recent": 0
        if similar is None
        else int(_number(row, "similar_deferrals_recent", path, line)),
        "created_at": created,
    }


def _wrong(path: Any, line: int, key: str, got: Any, allowed: str) -> ValueError:
    return ValueError(f"{path}, line {line}: {key}: got {got!r:.60}; allowed: {allowed}")


def _text(row: Mapping[str, Any], key: str, path: Any, line: int) -> str:
    value = row.get(key)
    if not isinstance(value, str):
        raise _wrong(path, line, key, value, "a text")
    return value


def _number(row: Mapping[str, Any], key: str, path: Any, line: int) -> float:
    value = row.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _wrong(path, line, key, value, "a number")
    return float(value)
