"""Episodes of a training that goes on: fixed-size records, appended, so a killed run loses its last one at most.

A resumed training starts at its checkpoint; what was logged after it is played again, so it is dropped.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvent.metrics import REFUSAL_REASONS
from solvent_experiments.columns import Columns, flatten

__all__ = ["TrainingLog"]

BITS = ("return", "debt", "claimed", "gained")
COUNTS = ("length", "accepted", "wrong", "calibrations", "wells", "refusals")
RECORD = np.dtype(
    [("steps", "i8")]
    + [(name, "f4") for name in BITS]
    + [(name, "i4") for name in (*COUNTS, *(f"refusals_{reason}" for reason in REFUSAL_REASONS))]
)


class TrainingLog:
    """Rows of one training seed; ``steps`` is how many steps had been taken when the episode was reported."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def append(self, steps: int, episodes: Mapping[str, Any]) -> None:
        """Add the ``episode`` columns of episodes that ended."""
        flat = flatten(episodes)
        rows = np.zeros(len(flat["return"]), RECORD)
        rows["steps"] = steps
        for name in RECORD.names[1:] if RECORD.names else ():
            rows[name] = flat[name]
        with self.path.open("ab") as file:
            file.write(rows.tobytes())

    def drop_after(self, steps: int) -> None:
        """Drop what was reported after ``steps``, and a last record that is not whole."""
        if self.path.exists():
            rows = self._rows()
            self.path.write_bytes(rows[rows["steps"] <= steps].tobytes())

    def read(self) -> Columns:
        """All rows as columns."""
        rows = self._rows()
        return {name: np.ascontiguousarray(rows[name]) for name in RECORD.names or ()}

    def _rows(self) -> NDArray[Any]:
        data = self.path.read_bytes() if self.path.exists() else b""
        return np.frombuffer(data[: len(data) // RECORD.itemsize * RECORD.itemsize], RECORD)
