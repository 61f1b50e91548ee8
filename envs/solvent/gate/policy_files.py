"""Policies in a readable JSON file, with the checklist of what they were learnt from and a checksum.

    {"format": "solvent.gate.policies.v2", "checklist": [{...}, ...], "policies": [{...}, ...], "sha256": "..."}

``sha256`` is over checklist and policies in canonical form (sorted keys, no spaces). Source: *Deterministic Policy
Gates for Stochastic Systems*, "Persist learned percentiles per dataset", "Introduce policy versioning" and the
checklist that it demands "before deploying a new policy configuration".

Known approximation: the hash detects accidents and damaged copies. It is not a signature; anyone who changes a
threshold can write a new hash.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from solvent.files import read_input, strict_json
from solvent.gate.errors import GateError
from solvent.gate.policy import Policy

__all__ = ["FORMAT", "Item", "load_checklist", "load_policies", "save_policies"]

FORMAT = "solvent.gate.policies.v2"
_MOST = 2**24  # bytes
_KEYS = {"format", "checklist", "policies", "sha256"}


@dataclasses.dataclass(frozen=True)
class Item:
    """One item of the checklist (``checklist.run_checklist``), with a note on what its result is worth."""

    name: str
    passed: bool
    measured: str
    required: str
    note: str

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value, kind = getattr(self, field.name), bool if field.name == "passed" else str
            if not isinstance(value, kind):
                raise GateError(f"checklist, {field.name}: got {value!r:.80}; allowed: a {kind.__name__}")


def save_policies(
    path: str | os.PathLike[str], policies: Iterable[Policy], checklist: Iterable[Item]
) -> None:
    """Write policies to ``path`` atomically, with the checklist of the sample that they were learnt from."""
    items = [dataclasses.asdict(item) for item in checklist]
    if not items:
        raise GateError("checklist: got no item; allowed: those of run_checklist")
    entries = [policy.to_dict() for policy in _distinct(list(policies))]
    document = {
        "format": FORMAT,
        "checklist": items,
        "policies": entries,
        "sha256": _digest([items, entries]),
    }
    text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    target = Path(path)
    temporary = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(target)
    except OSError as error:
        raise GateError(f"{target}: not written, {error.strerror}; allowed: a file in a folder") from None
    finally:
        temporary.unlink(missing_ok=True)


def load_policies(path: str | os.PathLike[str]) -> dict[str, Policy]:
    """Return the policies in a file by name.

    Raises:
        GateError: the file is missing, has another format, was changed since it was written, or has a wrong field.
    """
    entries = _document(path)["policies"]
    try:
        return {policy.name: policy for policy in _distinct([Policy.from_dict(entry) for entry in entries])}
    except GateError as error:
        raise GateError(f"{path}: {error}") from None


def load_checklist(path: str | os.PathLike[str]) -> tuple[Item, ...]:
    """Return the checklist in a file of policies; errors as in ``load_policies``."""
    try:
        return tuple(Item(**fields) for fields in _document(path)["checklist"])
    except (TypeError, GateError) as error:
        raise GateError(f"{path}: {error}") from None


def _document(path: str | os.PathLike[str]) -> dict[str, Any]:
    source = Path(path)
    document = _parsed(source)
    if not isinstance(document, dict) or set(document) != _KEYS or document["format"] != FORMAT:
        raise GateError(f"{source}: not a file of policies; allowed: what save_policies writes ({FORMAT})")
    parts = [document["checklist"], document["policies"]]
    if not all(isinstance(part, list) for part in parts) or document["sha256"] != _digest(parts):
        raise GateError(f"{source}: changed since it was written (its SHA-256 differs); allowed: unchanged")
    return document


def _parsed(source: Path) -> Any:
    try:
        return strict_json(read_input(source, _MOST))
    except OSError as error:
        raise GateError(f"{source}: not read, {error.strerror}; allowed: a file of policies") from None
    except ValueError:
        raise GateError(f"{source}: no JSON in UTF-8; allowed: what save_policies writes") from None


def _digest(parts: list[Any]) -> str:
    canonical = json.dumps(parts, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()


def _distinct(policies: list[Policy]) -> list[Policy]:
    names = [policy.name for policy in policies]
    if not names:
        raise GateError("policies: got none; allowed: one or more")
    if doubles := sorted({name for name in names if names.count(name) > 1}):
        raise GateError(f"policies: got {doubles[0]} twice; allowed: one policy of a name and version")
    return policies
