"""Digests of values, and how two recordings differ."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

import numpy as np

WORDING = {"rationale", "agent_notes", "proposed_hypothesis", "summary", "claim"}
"""Keys of log lines that hold sentences, which may be reworded while the lab stays the same."""
TOLERANCE = 2e-6  # other builds of torch move an energy by about 1e-6


class Digest:
    """A running hash of arrays, texts and nested dictionaries. The order of keys does not count."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def add(self, value: Any) -> None:
        if isinstance(value, dict):
            for key in sorted(value):
                self.add(key)
                self.add(value[key])
        elif isinstance(value, np.ndarray) and value.dtype != object:
            self._hash.update(str(value.dtype).encode() + np.ascontiguousarray(value).tobytes())
        elif isinstance(value, (np.ndarray, list, tuple)):
            for item in value:
                self.add(item)
        else:
            self._hash.update(repr(value).encode())

    def __str__(self) -> str:
        return self._hash.hexdigest()[:12]


def of(value: Any) -> str:
    """Return the digest of one value."""
    digest = Digest()
    digest.add(value)
    return str(digest)


def of_log(lines: list[str]) -> dict[str, str]:
    """Return the digests of a log's lines as they are, and without the sentences in them."""

    def silent(fields: dict[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in fields.items() if key not in WORDING}

    events = [json.loads(line, object_hook=silent) for line in lines]
    return {"lines": of(lines), "without wording": of(events)}


def differences(kept: Any, result: Any, where: str) -> Iterator[str]:
    """Yield one line per difference. ``found`` may hold more than ``kept``.

    In a dictionary called ``fields`` only the digests count, so that a field may be renamed.
    """
    if isinstance(kept, dict) and isinstance(result, dict):
        if where.endswith("/fields"):
            yield from (f"{where}/{key}" for key, digest in kept.items() if digest not in result.values())
        else:
            for key, value in kept.items():
                yield from differences(value, result.get(key), f"{where}/{key}")
    elif isinstance(kept, list) and isinstance(result, list) and len(kept) == len(result):
        changed = [(i, k, f) for i, (k, f) in enumerate(zip(kept, result, strict=True)) if apart(k, f)]
        if changed:
            first, was, now = changed[0]
            yield f"{where}: {len(changed)} of {len(kept)}; item {first} was {was!r:.80}, is {now!r:.80}"
    elif apart(kept, result):
        yield f"{where}: was {kept!r:.80}, is {result!r:.80}"


def apart(kept: Any, result: Any) -> bool:
    if isinstance(kept, float) and isinstance(result, float):
        return abs(kept - result) > TOLERANCE
    return bool(kept != result)
