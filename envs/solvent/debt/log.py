"""The log of refusals: one JSON object per line, with the fields of the source."""

from __future__ import annotations

import os
from collections.abc import Iterable

from solvent.inputs import input_lines, strict_json
from solvent.lab.ledger import append_jsonl
from solvent.lab.mechanisms.debt import RefusalEvent

__all__ = ["append_refusals_jsonl", "read_refusals_jsonl"]

File = str | os.PathLike[str]


def append_refusals_jsonl(path: File, events: Iterable[RefusalEvent]) -> None:
    """Append refusals to ``path``, flushed line by line. A missing file is created.

    Raises:
        OSError: the file can't be written.
    """
    append_jsonl(path, events)


def read_refusals_jsonl(path: File) -> list[RefusalEvent]:
    """Return all events of a log.

    Raises:
        OSError: the file can't be read.
        ValueError: a line is not a refusal event; the message names the file and the line.
    """
    events = []
    for number, line in input_lines(path):
        try:
            events.append(RefusalEvent(**strict_json(line)))
        except (TypeError, ValueError) as error:
            raise ValueError(f"{path}, line {number}: not a refusal event ({error})") from None
    return events
