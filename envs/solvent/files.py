"""The one reader and writer of files: limits on bytes that hold before any is read, strict JSON, atomic writes, locks.

A lock needs filelock, of the extra ``experiments``.
"""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

__all__ = [
    "DEEPEST",
    "LONGEST_LINE",
    "appending",
    "input_lines",
    "locked",
    "open_input",
    "read_input",
    "require_writable",
    "strict_json",
    "write_atomically",
    "write_json",
]

PATIENCE = 10.0
"""Seconds to wait for the lock of a file that is appended to."""

LONGEST_LINE = 2**24
"""Maximum length of a line, bytes."""

DEEPEST = 100
"""Maximum depth of lists and objects in JSON."""

_MOST_OF_LINES = 2**32
_Path = str | os.PathLike[str]


def read_input(path: _Path, most: int) -> bytes:
    """Return the content of a regular file of at most ``most`` bytes.

    Raises:
        OSError: the file can't be read, is of another kind or too long; ``strerror`` says which.
    """
    with open_input(path, most) as file:
        content = file.read(most + 1)
    if len(content) > most:  # it has grown
        raise _refused(path, f"more than {most:,} bytes")
    return content


def input_lines(path: _Path) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a regular file, with their numbers from 1.

    Raises:
        OSError: as in ``read_input``, or a line is longer than ``LONGEST_LINE``.
    """
    with open_input(path, _MOST_OF_LINES) as file:
        number = 0
        while line := file.readline(LONGEST_LINE + 1):
            number += 1
            if len(line) > LONGEST_LINE:  # a file of another kind, not to be read to the end of the line
                raise _refused(path, f"line {number} is longer than {LONGEST_LINE:,} bytes")
            yield number, line


def open_input(path: _Path, most: int) -> BinaryIO:
    """Open a regular file of at most ``most`` bytes.

    Raises:
        OSError: as in ``read_input``.
    """
    try:
        found = Path(path).stat()
    except ValueError:  # a null byte
        raise _refused(path, "no file can have this name") from None
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    if not stat.S_ISREG(found.st_mode):  # a device or a pipe may never end
        raise _refused(path, "not a regular file")
    if found.st_size > most:
        raise _refused(path, f"more than {most:,} bytes")
    return open(path, "rb")  # noqa: PTH123


def _refused(path: _Path, why: str) -> OSError:
    return OSError(errno.EINVAL, why, os.fspath(path))


def strict_json(text: str | bytes) -> Any:
    """Return the value of a JSON text in UTF-8, which may begin with a byte order mark.

    Raises:
        ValueError: the text is something else, is nested deeper than ``DEEPEST``, repeats a key, or has a number that
            isn't finite.
    """
    if isinstance(text, bytes):
        text = text.decode("utf-8-sig")
    try:
        value = json.loads(text, parse_constant=_no_constant, object_pairs_hook=_no_double)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    level = [value]
    for _ in range(DEEPEST):
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not level:
            break
    if any(isinstance(inner, dict | list) for inner in level):
        raise ValueError(_TOO_DEEP)
    return value


_TOO_DEEP = f"nested deeper than {DEEPEST} levels"


def _no_constant(text: str) -> NoReturn:
    raise ValueError(f"got {text}, no finite number")


def _no_double(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) < len(pairs):
        raise ValueError("a key is given twice")
    return document


# -- writing


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
    """Write a value as indented JSON, atomically."""
    write_atomically(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


@contextmanager
def locked(lock: Path, patience: float) -> Iterator[None]:
    """Hold a lock file and remove it at the end; the operating system frees the lock of a process that is gone.

    Raises:
        TimeoutError: another process still holds it after ``patience`` seconds.
    """
    from filelock import FileLock

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
