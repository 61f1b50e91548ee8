"""A unit's worker on a Ray cluster: works in a scratch folder and sends its changes to the run's.

The machines need not share a file system, and one that was wrongly taken for lost can't write where another has
resumed. Nothing here needs Ray.
"""

from __future__ import annotations

import os
import platform
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

from solvent_agents.learning.checkpoint import CHECKPOINT
from solvent_experiments.artifacts.manifest import versions
from solvent_experiments.ray.parcels import Packer, Parcel, lay_out
from solvent_experiments.run.worker import ENDS, Message, Task, do_units

__all__ = ["News", "Place", "UnitWorker"]

PARCEL_EVERY = 20.0  # seconds between parcels of a training, less for the first


class Place(NamedTuple):
    """Host, process and package versions of a unit's worker."""

    host: str
    process: int
    versions: Mapping[str, str | None]


News = Message | Parcel | Place


class UnitWorker:
    """Executes one unit in a thread, so that it can be stopped."""

    def __init__(self) -> None:
        self._stop = threading.Event()
        self._parcelled = float("-inf")

    def work(self, task: Task, files: Mapping[str, bytes]) -> Iterator[News]:
        """Execute the unit from its present ``files``; yield messages and parcels."""
        news: SimpleQueue[News] = SimpleQueue()
        scratch = Path(tempfile.mkdtemp(prefix="solvent-unit-"))
        threading.Thread(target=self._work, args=(task, files, scratch, news), daemon=True).start()
        item: News = Place(platform.node(), os.getpid(), versions())
        yield item
        while not (isinstance(item, Message) and item.kind in ENDS):
            item = news.get()
            yield item

    def stop(self) -> None:
        """Stop where the unit can be resumed."""
        self._stop.set()

    def _work(self, task: Task, files: Mapping[str, bytes], scratch: Path, news: SimpleQueue[News]) -> None:
        (unit,) = task.units
        try:
            lay_out(scratch, files)
            packer = Packer(scratch)

            def send(message: Message) -> None:
                if self._is_due(message, scratch):
                    news.put(packer.pack())
                if message.kind in ENDS:  # the receiver ends this process
                    shutil.rmtree(scratch, ignore_errors=True)
                news.put(message)

            do_units(replace(task, units=(replace(unit, folder=scratch),)), send, self._stop.is_set)
        except BaseException as error:  # otherwise the error would go unnoticed
            news.put(Message("failed", unit.label, detail=f"{type(error).__name__}: {error}"))
        finally:
            shutil.rmtree(scratch, ignore_errors=True)

    def _is_due(self, message: Message, scratch: Path) -> bool:
        """Return whether to send a parcel: regularly once a checkpoint exists, after training, and at the end."""
        if message.kind in ENDS or (message.kind == "evaluation" and message.done == 0):
            return True
        now = time.monotonic()
        resumable = message.kind == "training" and (scratch / CHECKPOINT).exists()
        due = resumable and now - self._parcelled >= PARCEL_EVERY
        if due:
            self._parcelled = now
        return due
