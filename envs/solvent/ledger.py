"""The append-only log of refusals, ``epistemic_refusals.jsonl``: one JSON object a line, never rewritten."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path

from solvent.records import RefusalEvent

__all__ = ["append_refusals_jsonl", "begin_ledger", "read_refusals_jsonl"]


def begin_ledger(path: str | os.PathLike[str]) -> None:
    """Make sure now, not at the first refusal, that ``path`` can be appended to.

    Raises:
        OSError: the file can't be written.
    """
    with Path(path).open("a", encoding="utf-8"):
        pass


def append_refusals_jsonl(path: str | os.PathLike[str], events: Iterable[RefusalEvent]) -> None:
    """Append events to ``path``, flushed line by line; the file is made where it does not exist.

    Raises:
        OSError: the file can't be written.
    """
    with Path(path).open("a", encoding="utf-8", newline="\n") as ledger:
        for event in events:
            ledger.write(json.dumps(event.to_dict(), ensure_ascii=False) + "\n")
            ledger.flush()


def read_refusals_jsonl(path: str | os.PathLike[str]) -> list[RefusalEvent]:
    """All events of a ledger.

    Raises:
        OSError: the file can't be read.
        ValueError: a line is no refusal event; the message names the file and the line.
    """
    events = []
    with Path(path).open(encoding="utf-8") as ledger:
        for number, line in enumerate(ledger, start=1):
            try:
                events.append(RefusalEvent(**json.loads(line)))
            except (TypeError, ValueError) as error:
                raise ValueError(f"{path}, line {number}: not a refusal event ({error})") from None
    return events
