"""Policies in a readable JSON file with a checksum.

    {"format": "solvent.gate.policies.v1", "policies": [{...}, ...], "sha256": "..."}

``sha256`` is over the policies in canonical form (sorted keys, no spaces). Source: *Deterministic Policy Gates for
Stochastic Systems*, "Persist learned percentiles per dataset" and "Introduce policy versioning".

Known approximation: the hash detects accidents and damaged copies. It is not a signature; anyone who changes a
threshold can write a new hash.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from solvent.gate.errors import GateError
from solvent.gate.policy import Policy
from solvent.inputs import read_input, strict_json

__all__ = ["load_policies", "save_policies"]

_FORMAT = "solvent.gate.policies.v1"
_MOST = 2**24  # bytes
_KEYS = {"format", "policies", "sha256"}


def save_policies(path: str | os.PathLike[str], policies: Iterable[Policy]) -> None:
    """Write policies to ``path`` atomically."""
    entries = [policy.to_dict() for policy in _distinct(list(policies))]
    document = {"format": _FORMAT, "policies": entries, "sha256": _digest(entries)}
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
    source = Path(path)
    document = _parsed(source)
    if not isinstance(document, dict) or set(document) != _KEYS or document["format"] != _FORMAT:
        raise GateError(f"{source}: not a file of policies; allowed: what save_policies writes ({_FORMAT})")
    entries = document["policies"]
    if not isinstance(entries, list) or document["sha256"] != _digest(entries):
        raise GateError(f"{source}: changed since it was written (its SHA-256 differs); allowed: unchanged")
    try:
        return {policy.name: policy for policy in _distinct([Policy.from_dict(entry) for entry in entries])}
    except GateError as error:
        raise GateError(f"{source}: {error}") from None


def _parsed(source: Path) -> Any:
    try:
        return strict_json(read_input(source, _MOST))
    except OSError as error:
        raise GateError(f"{source}: not read, {error.strerror}; allowed: a file of policies") from None
    except ValueError:
        raise GateError(f"{source}: no JSON in UTF-8; allowed: what save_policies writes") from None


def _digest(entries: list[Any]) -> str:
    canonical = json.dumps(entries, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()


def _distinct(policies: list[Policy]) -> list[Policy]:
    names = [policy.name for policy in policies]
    if not names:
        raise GateError("policies: got none; allowed: one or more")
    if doubles := sorted({name for name in names if names.count(name) > 1}):
        raise GateError(f"policies: got {doubles[0]} twice; allowed: one policy of a name and version")
    return policies
