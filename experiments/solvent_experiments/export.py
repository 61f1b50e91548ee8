"""A run's tables in forms that every program reads."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Literal

from pyarrow import csv, parquet

from solvent.files import write_atomically
from solvent_experiments.folder import RunFolder

Form = Literal["csv", "jsonl"]


def export(folder: RunFolder, out: Path, form: Form) -> list[Path]:
    """Write the tables of a finished run, a file each, and return their paths.

    Raises:
        ConfigError: the run is not finished.
    """
    folder.read_manifest()
    paths = []
    for source in (folder.episodes, folder.traces, folder.training):
        if source.exists():
            with parquet.ParquetFile(source) as reader:
                table = reader.read(use_threads=False)  # see ``folder.read_parquet``
            if form == "csv":
                buffer = io.BytesIO()
                csv.write_csv(table, buffer)
                content: bytes | str = buffer.getvalue()
            else:
                content = "".join(json.dumps(row) + "\n" for row in table.to_pylist())
            paths.append(out / f"{source.stem}.{form}")
            write_atomically(paths[-1], content)
    return paths
