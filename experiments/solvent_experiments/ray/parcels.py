"""Transfer of a unit's files from the machine of its worker to the run's folder.

A *parcel* has the files that changed since the last one and the names of deleted files. Its order of unpacking leaves
a folder that can be resumed wherever it stops: files that a checkpoint needs come before it, deletions follow all
other files, and the table that marks the unit as finished comes last.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from solvent_agents.learning.checkpoint import BEFORE, CHECKPOINT
from solvent_experiments.artifacts.files import write_atomically

__all__ = ["Packer", "Parcel", "lay_out", "read_folder", "unpack"]

LOG = "training.bin"
ORDER = (LOG, BEFORE, CHECKPOINT, "policy.json", "policy.safetensors", "training.parquet", "traces.parquet")
LAST = "episodes.parquet"


class Parcel(NamedTuple):
    """Changed and deleted files of a folder."""

    files: Mapping[str, bytes]
    gone: tuple[str, ...] = ()


class Packer:
    """Packs the changes of ``folder`` since the last parcel, or since the packer was made."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._looks = _looks(folder)

    def pack(self) -> Parcel:
        """Return the next parcel. Meanwhile other threads may only append to files."""
        before, self._looks = self._looks, _looks(self._folder)
        changed = [name for name, look in self._looks.items() if before.get(name) != look]
        gone = tuple(name for name in before if name not in self._looks)
        return Parcel({name: (self._folder / name).read_bytes() for name in changed}, gone)


def unpack(folder: Path, parcel: Parcel) -> None:
    """Apply a parcel to a folder; after an OSError all files are still whole."""
    files = dict(parcel.files)
    last = {LAST: files.pop(LAST)} if LAST in files else {}
    lay_out(folder, {name: files[name] for name in sorted(files, key=_turn)})
    for name in parcel.gone:
        (folder / name).unlink(missing_ok=True)
    lay_out(folder, last)


def read_folder(folder: Path) -> dict[str, bytes]:
    """Return the contents of all files by their names in the folder."""
    return {name: (folder / name).read_bytes() for name in _looks(folder)}


def lay_out(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files that ``read_folder`` returned."""
    for name, content in files.items():
        write_atomically(folder / name, content)


def _looks(folder: Path) -> dict[str, tuple[int, int]]:
    """Return size and modification time of each whole file; quick changes may share a time."""
    looks = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.name.endswith(".part"):
            found = path.stat()
            looks[path.relative_to(folder).as_posix()] = (found.st_size, found.st_mtime_ns)
    return looks


def _turn(name: str) -> int:
    return ORDER.index(name) if name in ORDER else -1
