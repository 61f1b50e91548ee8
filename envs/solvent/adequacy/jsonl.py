"""Append-only records: one JSON object per line, each written whole in one system call.

A line goes to the end of the file (``O_APPEND``) in a single write, so processes that append to one file don't cut each
other's lines. If the last line is unfinished (the machine stopped), the next record starts on its own line and a
warning is logged: nothing is repaired, nothing is lost. Readers skip an unfinished record, wherever it is, with a
warning; any other broken line is an error.

Known approximation: local file systems promise one write, one place; a network file system may not.
"""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from solvent.adequacy.errors import AdequacyError
from solvent.files import input_lines, strict_json

__all__ = ["append_lines", "json_object", "read_lines"]

_LOG = logging.getLogger(__name__)
# The last byte is read back, hence O_RDWR; without O_BINARY, Windows turns \n into two bytes.
_FLAGS = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)


def append_lines(path: str | os.PathLike[str], records: Iterable[Mapping[str, Any]]) -> int:
    """Append records to ``path``, one per line, and return their number. A missing file is created.

    Raises:
        AdequacyError: a record is not JSON, or the file can't be written to the end of a line.
    """
    target = Path(path)
    lines = [_line(target, record) for record in records]
    if not lines:
        return 0
    try:
        descriptor = os.open(target, _FLAGS, 0o666)
        try:
            for line in lines:
                _append(descriptor, target, line)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise AdequacyError(f"{target}: not written, {error.strerror}; allowed: a file in a folder") from None
    return len(lines)


def _line(target: Path, record: Mapping[str, Any]) -> bytes:
    try:
        return json.dumps(record, ensure_ascii=True, allow_nan=False).encode("ascii") + b"\n"
    except (TypeError, ValueError, RecursionError) as error:
        raise AdequacyError(f"{target}: record: {error!s:.80}; allowed: values that JSON can hold") from None


def _append(descriptor: int, target: Path, line: bytes) -> None:
    # Another process may be writing its line just now. The extra newline then makes an empty line, which
    # readers skip.
    if _unfinished(descriptor):
        _LOG.warning("%s: the last line is unfinished; the next record starts on a new line", target)
        line = b"\n" + line
    written = os.write(descriptor, line)
    if written != len(line):
        raise AdequacyError(
            f"{target}: {written} of {len(line)} bytes written; allowed: room for a whole line"
        )


def _unfinished(descriptor: int) -> bool:
    if os.lseek(descriptor, 0, os.SEEK_END) == 0:
        return False
    os.lseek(descriptor, -1, os.SEEK_END)
    return os.read(descriptor, 1) != b"\n"


def read_lines(
    path: str | os.PathLike[str], *, appended: bool = False, having: re.Pattern[bytes] | None = None
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the records of ``path`` with their places (``scores.jsonl, line 3``). Empty lines are skipped.

    Args:
        path: the file.
        appended: the file is a log of ``append_lines``: skip records whose write was cut off, with a warning each.
        having: only lines that this finds something in; the others are not parsed.

    Raises:
        AdequacyError: the file can't be read, or a line is not a JSON object.
    """
    source = Path(path)
    try:
        for number, line in input_lines(source):
            if not line.strip() or (having is not None and not having.search(line)):
                continue
            place = f"{source}, line {number}"
            try:
                yield place, json_object(line)
            except AdequacyError as error:
                if not appended or not _cut_off(line):
                    raise AdequacyError(f"{place}: {error}") from None
                _LOG.warning("%s: a record whose write was cut off; left out", place)
    except OSError as error:
        raise AdequacyError(f"{source}: not read, {error.strerror}; allowed: a file of JSON lines") from None


def json_object(line: bytes) -> dict[str, Any]:
    """Return the JSON object in a line of UTF-8, which may begin with a byte order mark."""
    try:
        value = strict_json(line)
    except ValueError as error:
        raise AdequacyError(f"{error!s:.80}; allowed: a JSON object in UTF-8") from None
    if not isinstance(value, dict):
        raise AdequacyError(f"got {value!r:.60}; allowed: a JSON object")
    return value


def _cut_off(line: bytes) -> bool:
    text = line.strip()
    if not text.startswith(b"{"):
        return False
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        # A cut record may end in a brace too: of an inner object, or within a string.
        whole = text.endswith(b"}") and error.pos < len(text)
        return not whole or error.msg.startswith("Unterminated string")
    except (ValueError, RecursionError):
        return False
    return False
