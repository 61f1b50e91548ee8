"""Append-only logs: one JSON object per line, never rewritten. Each mechanism declares its events and files."""

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
"""Log to its default file name."""


def logs_of(params: LabParams) -> tuple[Log, ...]:
    """Return the logs of labs with these parameters."""
    return tuple(log for mechanism in MECHANISMS if mechanism.active(params) for log in mechanism.logs)


class Ledgers:
    """The logs of a lab or a vector of labs. A log without a path is not kept.

    Raises:
        OSError: A file can't be written.
        ParamError: The sentences of the gate, needed for the log of verdicts, are missing.
    """

    def __init__(self, params: LabParams, paths: Mapping[str, File | None]) -> None:
        self.params = params
        self.paths = {name: path for name, path in paths.items() if path is not None}
        self._open()
        if any(log.name == "verdicts" for log in self._logs):
            self._names.sentences  # noqa: B018 - raises now instead of at the first finding
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
        """Log the events of step records, shape ``(n,)``.

        Args:
            steps: Step records.
            labs: Records after these steps, shape ``(n,)``.
            numbered: Whether to mark each event with the index of its lab.
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
    """Check that ``path`` can be appended to, creating it if needed.

    Raises:
        OSError: The file can't be written.
    """
    with Path(path).open("a", encoding="utf-8"):
        pass


def append_jsonl(path: File, events: Iterable[LogEvent]) -> None:
    """Append events to ``path``, creating it if needed, and flush after each line.

    Raises:
        OSError: The file can't be written.
    """
    with Path(path).open("a", encoding="utf-8", newline="\n") as ledger:
        for event in events:
            ledger.write(json.dumps(event.to_dict(), ensure_ascii=False) + "\n")
            ledger.flush()
