"""Embeddings on disk: one SQLite file, safe for several processes.

An entry is ``sha256(model, arithmetic, text) -> vector, sha256(key, vector)``. An entry with a wrong checksum or width
counts as absent. A file that is not a database is renamed and replaced. If the file can't be read or written (full
disk, missing rights), one warning is logged and every vector is computed.

Known approximation: anyone who can write the file can write valid checksums. They guard against accidents only.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["VectorCache", "cache_folder"]

_FILE = "embeddings.sqlite3"
_TABLE = "CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB, checksum BLOB) WITHOUT ROWID"
_WAIT = 30.0  # seconds to wait for another process's write
_AT_ONCE = 500  # SQLite allows at least 999 parameters in a statement

_log = logging.getLogger(__name__)

T = TypeVar("T")
Vector = NDArray[np.float32]


def cache_folder() -> Path:
    """Return the cache folder: ``SOLVENT_CACHE``, or ``solvent`` in ``XDG_CACHE_HOME`` or ``~/.cache``."""
    if chosen := os.environ.get("SOLVENT_CACHE"):
        return Path(chosen).expanduser()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "solvent"


class VectorCache:
    """Vectors by key (32 bytes) in ``folder``, which the first write creates."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.path = Path(folder).expanduser() / _FILE
        self._broken = False

    def get(self, keys: Sequence[bytes]) -> dict[bytes, Vector]:
        """Return the undamaged vectors among ``keys``."""
        rows: list[tuple[bytes, object, object]] = []
        if self.path.is_file():
            rows = self._run(lambda connection: _select(connection, keys)) or []
        return {
            key: np.frombuffer(blob, dtype="<f4").astype(np.float32)
            for key, blob, checksum in rows
            if isinstance(blob, bytes) and len(blob) % 4 == 0 and checksum == _checksum(key, blob)
        }

    def put(self, vectors: Mapping[bytes, Vector]) -> None:
        """Add or replace vectors."""
        blobs = {key: vector.astype("<f4").tobytes() for key, vector in vectors.items()}
        rows = [(key, blob, _checksum(key, blob)) for key, blob in blobs.items()]
        self._run(
            lambda connection: connection.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", rows)
        )

    def _run(self, work: Callable[[sqlite3.Connection], T]) -> T | None:
        """Run ``work`` in its own connection, so that threads and forked processes share none."""
        for attempt in (1, 2):
            if self._broken:
                break
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                with contextlib.closing(sqlite3.connect(self.path, timeout=_WAIT)) as connection, connection:
                    connection.execute(_TABLE)
                    return work(connection)
            # A locked file, a full disk or missing rights: the file itself may be sound.
            except (sqlite3.OperationalError, OSError) as error:
                self._give_up(error)
            except sqlite3.DatabaseError as error:
                self._set_aside() if attempt == 1 else self._give_up(error)
        return None

    def _give_up(self, error: Exception) -> None:
        self._broken = True
        _log.warning("embeddings are not cached in %s: %s", self.path, error)

    def _set_aside(self) -> None:
        damaged = self.path.with_suffix(f".damaged-{os.getpid()}")
        _log.warning("%s is damaged: it is begun anew, the old file is %s", self.path, damaged.name)
        with contextlib.suppress(OSError):  # another process may have renamed it
            self.path.replace(damaged)


def _select(connection: sqlite3.Connection, keys: Sequence[bytes]) -> list[tuple[bytes, object, object]]:
    rows: list[tuple[bytes, object, object]] = []
    for start in range(0, len(keys), _AT_ONCE):
        some = keys[start : start + _AT_ONCE]
        marks = ",".join("?" * len(some))
        rows += connection.execute(f"SELECT key, vector, checksum FROM vectors WHERE key IN ({marks})", some)
    return rows


def _checksum(key: bytes, blob: bytes) -> bytes:
    return hashlib.sha256(key + blob).digest()
