"""Files of a unit on their way from the machine that works on it to the run's folder.

A *parcel* has what changed in a folder since the last one: files as a whole, of those that only grow the new end, and
the names of those that are gone. It is unpacked in such an order that the folder can be gone on from wherever that
stops: what a checkpoint counts on comes before it, what is to be removed goes when all the rest is there, and the table
that says that the unit is finished comes last.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from solvent_agents.learning.checkpoint import BEFORE, CHECKPOINT
from solvent_experiments.artifacts.files import naming, write_atomically

__all__ = ["Packer", "Parcel", "lay_out", "read_folder", "unpack"]

LOG = "training.bin"
ORDER = (LOG, BEFORE, CHECKPOINT, "policy.json", "policy.safetensors", "training.parquet", "traces.parquet")
LAST = "episodes.parquet"


class Piece(NamedTuple):
    """What a file has from ``start`` on."""

    name: str
    start: int
    content: bytes


class Parcel(NamedTuple):
    """What changed in a folder."""

    pieces: tuple[Piece, ...]
    gone: tuple[str, ...]


class Packer:
    """Packs what changed in ``folder`` since the last time, or since it was made."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._looks = _looks(folder)
        self._lengths: dict[str, int] = {}

    def pack(self) -> Parcel:
        """The next parcel. No other thread may write meanwhile, but to files that only grow."""
        before, self._looks = self._looks, _looks(self._folder)
        changed = [name for name, look in self._looks.items() if before.get(name) != look]
        gone = tuple(name for name in before if name not in self._looks)
        return Parcel(tuple(self._piece(name) for name in changed), gone)

    def _piece(self, name: str) -> Piece:
        # Whole at first: a training that goes on drops from its log what it plays again.
        start = self._lengths.get(name, 0) if _only_grows(name) else 0
        with (self._folder / name).open("rb") as file:
            file.seek(start)
            content = file.read()
        self._lengths[name] = start + len(content)
        return Piece(name, start, content)


def unpack(folder: Path, parcel: Parcel) -> None:
    """Bring a folder to where the parcel's was.

    Raises:
        OSError: it can't be written; what was written before is whole.
    """
    last = [piece for piece in parcel.pieces if piece.name == LAST]
    for piece in sorted((piece for piece in parcel.pieces if piece.name != LAST), key=_turn):
        _write(folder, piece)
    for name in parcel.gone:
        (folder / name).unlink(missing_ok=True)
    for piece in last:
        _write(folder, piece)


def read_folder(folder: Path) -> dict[str, bytes]:
    """All files, by their names in the folder."""
    return {name: (folder / name).read_bytes() for name in _looks(folder)}


def lay_out(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files as ``read_folder`` gave them."""
    for name, content in files.items():
        write_atomically(folder / name, content)


def _looks(folder: Path) -> dict[str, tuple[int, int]]:
    """Size and time of change of each whole file. Time alone may not tell two changes in a row apart."""
    looks = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.name.endswith(".part"):
            found = path.stat()
            looks[path.relative_to(folder).as_posix()] = (found.st_size, found.st_mtime_ns)
    return looks


def _only_grows(name: str) -> bool:
    return name == LOG or name.startswith("tensorboard/")


def _turn(piece: Piece) -> int:
    return ORDER.index(piece.name) if piece.name in ORDER else -1


def _write(folder: Path, piece: Piece) -> None:
    path = folder / piece.name
    if not piece.start:
        write_atomically(path, piece.content)
        return
    with naming(path), path.open("r+b") as file:
        file.truncate(piece.start)
        file.seek(piece.start)
        file.write(piece.content)
        file.flush()
        os.fsync(file.fileno())
