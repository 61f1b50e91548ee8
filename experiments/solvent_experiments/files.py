"""Atomic writes and locks."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from filelock import FileLock

PATIENCE = 10.0
"""Seconds to wait for a lock for appending, which is held for as long as it takes to read a file."""


def write_atomically(path: Path, content: bytes | str) -> None:
    """Write ``content`` to a temporary file and move it to ``path``; missing folders are made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with temporary.open("wb") as file:
            file.write(content.encode("utf-8") if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())  # before the rename, or a crash of the machine could leave an empty file
        temporary.replace(path)
    except OSError as error:
        # A failed write names no file by itself, and the message is for someone who must make room in it.
        raise OSError(error.errno, os.strerror(error.errno or 0), str(path)) from None
    finally:
        temporary.unlink(missing_ok=True)


def write_json(path: Path, value: Any) -> None:
    write_atomically(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


@contextmanager
def locked(lock: Path, patience: float) -> Iterator[None]:
    """Hold a lock file and remove it at the end; the operating system frees the lock of a process that is gone.

    Raises:
        TimeoutError: another process still holds it after ``patience`` seconds.
    """
    held = FileLock(lock)
    held.acquire(timeout=patience)
    try:
        yield
    finally:
        with suppress(OSError):  # not possible everywhere while it is open
            lock.unlink()
        held.release()  # after that: whoever waits for a file that is gone asks again


@contextmanager
def appending(path: Path) -> Iterator[None]:
    """Keep others from appending to a file between what was read of it and what is appended."""
    path = path.resolve()
    with locked(path.with_name(f".{path.name}.lock"), PATIENCE):
        yield


def require_writable(path: Path) -> None:
    """Raise OSError unless ``write_atomically`` could make its file in the nearest existing folder."""
    folder = next(parent for parent in path.absolute().parents if parent.exists())
    probe = folder / f".{path.name}.{os.getpid()}.part"
    probe.touch()
    probe.unlink()
