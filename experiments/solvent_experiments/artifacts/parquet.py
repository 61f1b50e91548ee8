"""Tables as dictionaries of NumPy columns, to and from Parquet.

Data frames would add nothing: experiments compute medians and shares of columns that fit in memory many times over.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvent.inputs import open_input
from solvent.lab.columns import join_columns
from solvent_experiments.artifacts.files import write_atomically

__all__ = ["NO_SEED", "Columns", "flatten", "joined", "owned", "read_parquet", "select", "write_parquet"]

LARGEST = 2**34  # bytes
Columns = dict[str, NDArray[Any]]

NO_SEED = -1
"""Marks "no training seed" in memory; in Parquet it is null."""


def flatten(columns: Mapping[str, Any]) -> Columns:
    """Return nested columns as flat ones: ``refusals`` becomes ``refusals_<reason>``, and ``refusals`` their sum."""
    flat: Columns = {}
    for name, column in columns.items():
        if isinstance(column, Mapping):
            flat[name] = np.sum([np.asarray(part) for part in column.values()], axis=0)
            flat |= {f"{name}_{inner}": np.asarray(part) for inner, part in column.items()}
        else:
            flat[name] = np.asarray(column)
    return flat


def joined(parts: Sequence[Columns]) -> Columns:
    """Return the rows of all parts in order. All parts have the same columns."""
    return join_columns(parts) if parts else {}


def owned(columns: Columns, agent: str, seed: int | None = None) -> Columns:
    """Return the columns after two others: the agent and its training seed, if it was trained."""
    rows = len(next(iter(columns.values())))
    seeds = np.full(rows, NO_SEED if seed is None else seed, np.int64)
    return {"agent": np.full(rows, agent, object), "training_seed": seeds, **columns}


def select(columns: Columns, rows: NDArray[Any]) -> Columns:
    """Return the rows of a mask or of an index array."""
    return {name: column[rows] for name, column in columns.items()}


def write_parquet(path: Path, columns: Columns) -> None:
    """Write columns as Parquet; the same columns give the same bytes."""
    import pyarrow as pa
    from pyarrow import parquet

    arrays = {}
    for name, column in columns.items():
        if column.dtype == object:
            arrays[name] = pa.array(column, pa.string()).dictionary_encode()
        elif name == "training_seed":
            arrays[name] = pa.array(column, mask=column == NO_SEED)
        else:
            arrays[name] = pa.array(column)
    buffer = io.BytesIO()
    parquet.write_table(pa.table(arrays), buffer, compression="zstd", write_page_checksum=True)
    write_atomically(path, buffer.getvalue())


def read_parquet(path: Path) -> Columns:
    """Read what ``write_parquet`` wrote; a damaged file raises OSError or ValueError."""
    from pyarrow import parquet

    # Not `read_table`: a thread of its own that still holds the file when the process ends aborts it.
    with (
        open_input(path, LARGEST) as file,
        parquet.ParquetFile(file, page_checksum_verification=True) as reader,
    ):
        table = reader.read(use_threads=False)
    columns: Columns = {}
    for name in table.column_names:
        column = table[name]
        if name == "training_seed":
            column = column.fill_null(NO_SEED)
        columns[name] = column.to_numpy()
    return columns
