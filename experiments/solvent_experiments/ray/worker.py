"""A unit on a machine of a Ray cluster: done in a folder of its own, from which what changes is sent to the run's.

The machines need share no file system, and a machine that was taken for lost and lives on can't write into the folder
that another has gone on with. What is sent, messages and parcels, is numbered and kept until it is known to have
arrived. Nothing here needs Ray.
"""

from __future__ import annotations

import os
import platform
import shutil
import tempfile
import threading
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from solvent_agents.learning.checkpoint import CHECKPOINT
from solvent_experiments.artifacts.manifest import versions
from solvent_experiments.ray.parcels import Packer, Parcel, lay_out
from solvent_experiments.run.worker import ENDS, Message, Task, do_units

__all__ = ["News", "Place", "UnitWorker"]

PARCEL_EVERY = 20.0  # seconds between two parcels of a training, less for the first
NEWS_WITHIN = 0.5  # seconds that a question for news waits for some


class Place(NamedTuple):
    """Where a unit is worked on, and with which versions."""

    host: str
    process: int
    versions: Mapping[str, str | None]


News = list[tuple[int, "Message | Parcel | Place"]]


class UnitWorker:
    """Does one unit, whose files so far are ``files``, in a thread. Its methods return soon."""

    def __init__(self, task: Task, files: Mapping[str, bytes]) -> None:
        self._news: deque[tuple[int, Message | Parcel | Place]] = deque()
        self._sent = 0
        self._changed = threading.Condition()
        self._stop = threading.Event()
        self._scratch = Path(tempfile.mkdtemp(prefix="solvent-unit-"))
        self._parcelled = float("-inf")
        self._tell(Place(platform.node(), os.getpid(), versions()))
        threading.Thread(target=self._work, args=(task, files), daemon=True).start()

    def news(self, after: int) -> News:
        """What has a number above ``after``, with their numbers; what has not is forgotten."""
        with self._changed:
            while self._news and self._news[0][0] <= after:
                self._news.popleft()
            if not self._news:
                self._changed.wait(NEWS_WITHIN)
            return list(self._news)

    def stop(self) -> None:
        """Stop where it can be gone on from."""
        self._stop.set()

    def _work(self, task: Task, files: Mapping[str, bytes]) -> None:
        (unit,) = task.units
        scratch = self._scratch
        try:
            lay_out(scratch, files)
            packer = Packer(scratch)

            def send(message: Message) -> None:
                if self._is_due(message):
                    self._tell(packer.pack())
                if message.kind in ENDS:  # who hears of it ends this process
                    shutil.rmtree(scratch, ignore_errors=True)
                self._tell(message)

            do_units(replace(task, units=(replace(unit, folder=scratch),)), send, self._stop.is_set)
        except BaseException as error:  # else nobody would hear of it
            self._tell(Message("failed", unit.label, detail=f"{type(error).__name__}: {error}"))
        finally:
            shutil.rmtree(scratch, ignore_errors=True)

    def _is_due(self, message: Message) -> bool:
        """Whether it is time for a parcel: every so often of a training with a checkpoint, as it ends, at the end."""
        if message.kind in ENDS or (message.kind == "evaluation" and message.done == 0):
            return True
        now = time.monotonic()
        resumable = message.kind == "training" and (self._scratch / CHECKPOINT).exists()
        due = resumable and now - self._parcelled >= PARCEL_EVERY
        if due:
            self._parcelled = now
        return due

    def _tell(self, item: Message | Parcel | Place) -> None:
        with self._changed:
            self._sent += 1
            self._news.append((self._sent, item))
            self._changed.notify_all()
