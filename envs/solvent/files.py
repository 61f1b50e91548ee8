"""The one reader and writer of files: limits that hold before a byte is read, strict JSON, records as JSON lines.

A record is a pydantic model or dataclass with the field names of its source document, and ``RECORD`` as its config. Its
file is JSON lines, read whole and appended to under a lock. Everything else is written whole or not at all.
"""

from __future__ import annotations

import datetime
import difflib
import errno
import itertools
import json
import math
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NoReturn, TypeVar

from solvent.errors import SolventError

if TYPE_CHECKING:
    from pydantic import BaseModel, ConfigDict, ValidationError

R = TypeVar("R")

__all__ = [
    "DEEPEST", "LONGEST_LINE", "RECORD", "InputError", "append_lines", "append_records", "cache_folder",
    "first_problem", "input_lines", "locked", "nearest_path", "now", "open_input", "read_input", "read_records",
    "require_writable", "strict_json", "writable", "write_atomically", "write_json",
]  # fmt: skip

RECORD: ConfigDict = {"extra": "forbid", "frozen": True, "hide_input_in_errors": True, "allow_inf_nan": False}
"""The config of records."""

PATIENCE = 10.0
"""Seconds to wait for the lock of a file that is appended to."""

LONGEST_LINE = 2**24
"""Maximum length of a line, bytes."""

DEEPEST = 100
"""Maximum depth of lists and objects in JSON."""

_MOST_OF_LINES = 2**32
_Path = str | os.PathLike[str]


class InputError(SolventError, ValueError):
    """An input that can't be used. The message is one line: file, place, what is wrong, what is allowed."""


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
        status = Path(path).stat()
    except ValueError:  # a null byte
        raise _refused(path, "no file can have this name") from None
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    if not stat.S_ISREG(status.st_mode):  # a device or a pipe may never end
        raise _refused(path, "not a regular file")
    if status.st_size > most:
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
        value = json.loads(
            text, parse_float=_finite, parse_constant=_no_constant, object_pairs_hook=_no_double
        )
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error}") from None
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


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):  # as of 1e999
        _no_constant(text)
    return number


def _no_constant(text: str) -> NoReturn:
    raise ValueError(f"got {text:.40}, not a finite number")


def _no_double(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) < len(pairs):
        raise ValueError("a key is given twice")
    return document


def nearest_path(path: _Path) -> str:
    """Return ``; did you mean 'x'?`` for a path to nothing beside which something has a similar name, or nothing."""
    with suppress(OSError, TypeError, ValueError):  # a path may be any text, or a number
        missing = Path(path)
        others = () if missing.exists() else itertools.islice(missing.parent.iterdir(), 1000)
        names = [other.name for other in others]
        for close in difflib.get_close_matches(missing.name, names, n=1, cutoff=0.75):
            return f"; did you mean '{missing.with_name(close)}'?"
    return ""


# -- records


def read_records(path: _Path, kind: type[R], *, missing_ok: bool = False) -> Iterator[R]:
    """Yield the records of a file of JSON lines; empty lines are skipped.

    Args:
        path: the file.
        kind: of the records.
        missing_ok: a file that does not exist has no records.

    Raises:
        InputError: the file can't be read, or a line is not a record; the message has the line's number and the key.
    """
    from pydantic import TypeAdapter, ValidationError

    record = TypeAdapter(kind)
    try:
        if missing_ok and not Path(path).exists():
            return
        for number, line in input_lines(path):
            if line.strip():
                try:
                    yield record.validate_python(strict_json(line))
                except ValidationError as error:
                    raise InputError(f"{path}, line {number}: {first_problem(error)}") from None
                except ValueError as error:
                    message = f"{path}, line {number}: {error!s:.80}; allowed: a JSON object"
                    raise InputError(message) from None
    except OSError as error:
        allowed = nearest_path(path) or "; allowed: a file of JSON lines"
        raise InputError(f"{path}: not read, {error.strerror}{allowed}") from None


def append_records(path: _Path, records: Iterable[BaseModel]) -> None:
    """Append records to ``path`` as ``append_lines`` does. Missing folders are made; without records, nothing is."""
    if lines := [record.model_dump_json() for record in records]:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        append_lines(path, lines)


def append_lines(path: _Path, lines: Iterable[str]) -> None:
    """Append lines to ``path``, all of them or none. A missing file is created, without lines too.

    If the last line is unfinished, as after a full disk, it is ended first.

    Raises:
        OSError: the file can't be written.
        TimeoutError: another process has held the lock for ``PATIENCE`` seconds.
    """
    content = writable("".join(f"{line}\n" for line in lines)).encode()
    target = Path(path).resolve()
    target.touch()  # before the lock, which would make a missing folder
    with locked(target.with_name(f".{target.name}.lock"), PATIENCE):
        size = target.stat().st_size
        try:
            with target.open("ab+") as file:
                file.seek(max(size - 1, 0))
                file.write(content if file.read(1) in {b"", b"\n"} else b"\n" + content)
        except OSError as error:
            with suppress(OSError):  # the file is closed: what its buffer still held can't follow
                os.truncate(target, size)
            raise OSError(error.errno, os.strerror(error.errno or 0), str(target)) from None


def first_problem(error: ValidationError) -> str:
    """Return what is wrong with a record, with its key, in one line and without its content beyond 60 characters."""
    first = error.errors(include_url=False)[0]
    key, allowed = ".".join(map(str, first["loc"])), first["msg"].removeprefix("Input should be ")
    where = f"{key}: " if key else ""
    if first["type"] in {"extra_forbidden", "unexpected_keyword_argument"}:  # of a model, of a dataclass
        return f"{where}unknown key"
    if first["type"] == "missing":
        return f"{where}missing"
    return f"{where}got {first['input']!r:.60}; allowed: {allowed.removeprefix('Value error, ')}"


def now() -> datetime.datetime:
    """Return the present time in UTC."""
    return datetime.datetime.now(datetime.UTC)


def cache_folder() -> Path:
    """Return the cache folder: ``SOLVENT_CACHE``, or ``solvent`` in ``XDG_CACHE_HOME`` or ``~/.cache``."""
    if chosen := os.environ.get("SOLVENT_CACHE"):
        return Path(chosen).expanduser()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "solvent"


# -- writing


def writable(text: str) -> str:
    """Return text with lone surrogates escaped: no file holds one, and an agent's words must not stop its log."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def write_atomically(path: Path, content: bytes | str) -> None:
    """Write ``content`` to a temporary file and move it to ``path``; missing folders are made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with temporary.open("wb") as file:
            file.write(writable(content).encode() if isinstance(content, str) else content)
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
    """Hold a lock file, which stays: if it were removed while others wait for it, two of them could hold it.

    The operating system frees the lock of a process that is gone.

    Raises:
        TimeoutError: another process still holds it after ``patience`` seconds.
    """
    from filelock import FileLock

    with FileLock(lock, timeout=patience):
        yield


def require_writable(path: Path) -> None:
    """Raise OSError unless ``write_atomically`` could make its file in the nearest existing folder."""
    folder = next(parent for parent in path.absolute().parents if parent.exists())
    probe = folder / f".{path.name}.{os.getpid()}.part"
    probe.touch()
    probe.unlink()
