"""Episodes of an unfinished training, appended as fixed-size records: a killed run loses at most the last one.

A resumed training starts at its checkpoint and plays later episodes again, so their records are dropped.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvent import LabParams
from solvent_agents.learning.while_blocked import WHILE_BLOCKED
from solvent_experiments.artifacts.files import naming, write_atomically
from solvent_experiments.artifacts.parquet import Columns, flatten
from solvent_experiments.measure.columns import logged_columns

__all__ = ["TrainingLog"]


class TrainingLog:
    """Episodes of one training seed; ``steps`` counts the training steps taken when an episode was reported.

    The other columns depend on the labs' parameters (``measure.columns``).
    """

    def __init__(self, path: Path, params: LabParams) -> None:
        self.path = path
        columns = [(column.name, column.logged) for column in logged_columns(params)]
        self.record = np.dtype([("steps", "i8"), *columns])

    def append(self, steps: int, episodes: Mapping[str, Any]) -> None:
        """Append the ``episode`` columns of finished episodes."""
        # Episodes from outside a training have no counts of choices while blocked.
        flat: dict[str, Any] = {**dict.fromkeys(WHILE_BLOCKED, 0), **flatten(episodes)}
        rows = np.zeros(len(flat["return"]), self.record)
        rows["steps"] = steps
        for name in self.record.names[1:] if self.record.names else ():
            rows[name] = flat[name]
        with naming(self.path), self.path.open("ab") as file:
            file.write(rows.tobytes())
            file.flush()
            os.fsync(file.fileno())  # on the disk before the checkpoint that counts on it

    def drop_after(self, steps: int) -> None:
        """Drop records after ``steps`` and an incomplete last record."""
        if self.path.exists():
            rows = self._rows()
            # A training from the start keeps no record: another version may have written other columns.
            kept = rows[rows["steps"] <= steps].tobytes() if steps > 0 else b""
            write_atomically(self.path, kept)

    def read(self) -> Columns:
        rows = self._rows()
        return {name: np.ascontiguousarray(rows[name]) for name in self.record.names or ()}

    def _rows(self) -> NDArray[Any]:
        data = self.path.read_bytes() if self.path.exists() else b""
        return np.frombuffer(data[: len(data) // self.record.itemsize * self.record.itemsize], self.record)
