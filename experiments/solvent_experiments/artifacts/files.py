"""Files that are either there whole or not there at all, and errors that say which file they are about."""

from __future__ import annotations

import errno
import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

__all__ = ["is_full", "naming", "no_room", "require_writable", "sha256", "write_atomically", "write_json"]

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""No space, no quota, a file larger than may be: nothing is wrong with the run, and it can go on once there is room."""


def write_atomically(path: Path, content: bytes | str) -> None:
    """Write ``content`` beside ``path`` and move it into place; missing folders are made."""
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
    """Let errors of the system say ``path``: that of a write that fails names no file by itself."""
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno is not None:
            error.filename = str(path)
        raise


def is_full(error: BaseException) -> bool:
    """Whether there was no room to write."""
    return isinstance(error, OSError) and error.errno in FULL


def no_room(error: OSError, where: Path) -> str:
    """The path that there was no room for (``where``, if the error doesn't know) and what the system says."""
    return f"{error.filename or where}: {os.strerror(error.errno or 0)}"


def require_writable(path: Path) -> None:
    """Make and remove an empty file as ``write_atomically`` would, in the nearest folder that is there.

    Raises:
        OSError: it can't be written.
    """
    folder = next(parent for parent in path.absolute().parents if parent.exists())
    probe = folder / _part(path)
    probe.touch()
    probe.unlink()


def _part(path: Path) -> str:
    """Name of the file that is written before it is moved into place."""
    return f".{path.name}.{os.getpid()}.part"


def write_json(path: Path, value: Any) -> None:
    """Write a value as indented JSON."""
    write_atomically(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def sha256(path: Path) -> str:
    """The file's SHA-256, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
