"""The append-only logs: one JSON object a line, never rewritten. Each mechanism says what it logs, and where."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from solvent.lab.info import names_of
from solvent.lab.mechanism import Log, LogEvent
from solvent.lab.mechanisms import MECHANISMS
from solvent.lab.params import LabParams

__all__ = ["LOG_FILES", "Ledgers", "append_jsonl", "begin_ledger", "logs_of"]

File = str | os.PathLike[str]

LOG_FILES = {log.name: log.file for mechanism in MECHANISMS for log in mechanism.logs}
"""Log -> its file's usual name."""


def logs_of(params: LabParams) -> tuple[Log, ...]:
    """What labs with these parameters log."""
    return tuple(log for mechanism in MECHANISMS if mechanism.active(params) for log in mechanism.logs)


class Ledgers:
    """The logs that a lab or a vector of labs keeps; those without a path are not kept.

    Raises:
        OSError: a file that can't be written.
        ParamError: verdicts of a gate whose sentences are not at hand.
    """

    def __init__(self, params: LabParams, paths: Mapping[str, File | None]) -> None:
        self.params = params
        self.paths = {name: path for name, path in paths.items() if path is not None}
        self._open()
        if any(log.name == "verdicts" for log in self._logs):
            self._names.sentences  # noqa: B018 - at fault now, not at the first finding
        for path in self.paths.values():
            begin_ledger(path)

    def _open(self) -> None:
        self._names = names_of(self.params)
        self._logs = tuple(log for log in logs_of(self.params) if log.name in self.paths)

    def __getstate__(self) -> dict[str, Any]:
        return {"params": self.params, "paths": self.paths}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._open()

    def append(self, steps: Any, labs: Any, *, numbered: bool) -> None:
        """Log what happened in step records, shape ``(n,)``; ``numbered`` marks each with its lab.

        ``labs`` of shape ``(n,)`` are the records that the steps left.
        """
        for log in self._logs:
            events = [
                event
                for i in np.flatnonzero(log.happened(steps))
                for event in log.events(self._names, steps[i], labs[i], int(i) if numbered else None)
            ]
            if events:
                append_jsonl(self.paths[log.name], events)


def begin_ledger(path: File) -> None:
    """Make sure now, not at the first event, that ``path`` can be appended to.

    Raises:
        OSError: the file can't be written.
    """
    with Path(path).open("a", encoding="utf-8"):
        pass


def append_jsonl(path: File, events: Iterable[LogEvent]) -> None:
    """Append events to ``path``, flushed line by line; the file is made where it does not exist.

    Raises:
        OSError: the file can't be written.
    """
    with Path(path).open("a", encoding="utf-8", newline="\n") as ledger:
        for event in events:
            ledger.write(json.dumps(event.to_dict(), ensure_ascii=False) + "\n")
            ledger.flush()
