"""Atomic writes, locks, and errors that name their file."""

from __future__ import annotations

import errno
import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

__all__ = [
    "appending",
    "is_full",
    "locked",
    "naming",
    "no_room",
    "require_writable",
    "sha256",
    "write_atomically",
    "write_json",
]

PATIENCE = 10.0  # seconds; a lock for appending is held for as long as it takes to read a file

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""No space, no quota, file too large: the run itself is sound and can resume once there is room."""


def write_atomically(path: Path, content: bytes | str) -> None:
    """Write ``content`` to a temporary file and move it to ``path``; missing folders are made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(_part(path))
    data = content.encode("utf-8") if isinstance(content, str) else content
    try:
        with naming(path), temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Add ``path`` to system errors: a failed write names no file by itself."""
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno is not None:
            error.filename = str(path)
        raise


@contextmanager
def locked(lock: Path, patience: float) -> Iterator[None]:
    """Hold a lock file and remove it at the end; the operating system frees the lock of a process that is gone.

    Raises:
        TimeoutError: it is held elsewhere, and still is after ``patience`` seconds.
        OSError: no lock file can be made there.
    """
    from filelock import FileLock  # few of those who write files lock them

    held = FileLock(lock)
    with naming(lock):
        held.acquire(timeout=patience)
    try:
        yield
    finally:
        with suppress(OSError):  # not possible everywhere while it is open
            lock.unlink()
        held.release()  # after that: whoever waits for a file that is gone asks again


@contextmanager
def appending(path: Path) -> Iterator[None]:
    """Keep others from appending to a file between what was read of it and what is appended.

    Raises:
        OSError: as ``locked``.
    """
    path = path.resolve()
    with locked(path.with_name(f".{path.name}.lock"), PATIENCE):
        yield


def is_full(error: BaseException) -> bool:
    """Return whether the error is a full disk."""
    return isinstance(error, OSError) and error.errno in FULL


def no_room(error: OSError, where: Path) -> str:
    """Return the path that had no room (``where`` if the error names none) and the system's message."""
    return f"{error.filename or where}: {os.strerror(error.errno or 0)}"


def require_writable(path: Path) -> None:
    """Raise OSError unless ``write_atomically`` could make its file in the nearest existing folder."""
    folder = next(parent for parent in path.absolute().parents if parent.exists())
    probe = folder / _part(path)
    probe.touch()
    probe.unlink()


def _part(path: Path) -> str:
    return f".{path.name}.{os.getpid()}.part"


def write_json(path: Path, value: Any) -> None:
    write_atomically(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
