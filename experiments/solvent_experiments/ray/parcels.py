"""Files of a unit on their way from the machine that works on it to the run's folder.

A *parcel* has the files that changed in a folder since the last one, and the names of those that are gone. It is
unpacked in such an order that the folder can be gone on from wherever that stops: what a checkpoint counts on comes
before it, what is to be removed goes when all the rest is there, and last comes the table that says that the unit is
finished.
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
    """What changed in a folder."""

    files: Mapping[str, bytes]
    gone: tuple[str, ...] = ()


class Packer:
    """Packs what changed in ``folder`` since the last time, or since it was made."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._looks = _looks(folder)

    def pack(self) -> Parcel:
        """The next parcel. No other thread may write meanwhile, but to files that only grow."""
        before, self._looks = self._looks, _looks(self._folder)
        changed = [name for name, look in self._looks.items() if before.get(name) != look]
        gone = tuple(name for name in before if name not in self._looks)
        return Parcel({name: (self._folder / name).read_bytes() for name in changed}, gone)


def unpack(folder: Path, parcel: Parcel) -> None:
    """Bring a folder to where the parcel's was.

    Raises:
        OSError: it can't be written; what was written before is whole.
    """
    files = dict(parcel.files)
    last = {LAST: files.pop(LAST)} if LAST in files else {}
    lay_out(folder, {name: files[name] for name in sorted(files, key=_turn)})
    for name in parcel.gone:
        (folder / name).unlink(missing_ok=True)
    lay_out(folder, last)


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


def _turn(name: str) -> int:
    return ORDER.index(name) if name in ORDER else -1
