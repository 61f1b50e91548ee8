"""What goes from a worker's folder to the run's: only what changed, in an order that can stop anywhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from solvent_experiments.ray import parcels
from solvent_experiments.ray.parcels import Packer, Parcel, lay_out, read_folder, unpack
from solvent_experiments.run.attempts import TRIES, Attempts

FINAL = Parcel(
    {
        "episodes.parquet": b"e",
        "checkpoint.bin": b"c",
        "policy.safetensors": b"p",
        "training.bin": b"log",
        "epistemic_refusals.jsonl": b"r",
    },
    ("error.txt",),
)


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """A worker's folder and the run's, the same so far."""
    files = {"training.bin": b"0123", "checkpoint.bin": b"old", "tensorboard/run_1/events": b"ab"}
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    lay_out(theirs, files)
    lay_out(ours, files)
    return theirs, ours


def test_what_did_not_change_stays_at_home(folders: tuple[Path, Path]) -> None:
    theirs, _ = folders
    assert Packer(theirs).pack() == Parcel({})


def test_the_run_gets_what_the_worker_has(folders: tuple[Path, Path]) -> None:
    theirs, ours = folders
    packer = Packer(theirs)
    for content, grown in ((b"new", b"0145"), (b"newer", b"0145678"), (b"newest", b"01456789")):
        (theirs / "checkpoint.bin").write_bytes(content)
        (theirs / "training.bin").write_bytes(grown)
        with (theirs / "tensorboard" / "run_1" / "events").open("ab") as file:
            file.write(b"c")
        (theirs / ".policy.json.17.part").write_bytes(b"half")
        unpack(ours, packer.pack())
        assert read_folder(ours) == read_folder(theirs)
        assert not list(ours.rglob("*.part"))


def test_what_the_worker_removed_goes(folders: tuple[Path, Path]) -> None:
    theirs, ours = folders
    packer = Packer(theirs)
    (theirs / "checkpoint.bin").unlink()
    (theirs / "training.bin").unlink()
    unpack(ours, packer.pack())
    assert read_folder(ours).keys() == {"tensorboard/run_1/events"}


@pytest.mark.parametrize("stopped_at", range(5))
def test_a_folder_can_be_gone_on_from_wherever_the_unpacking_stopped(
    stopped_at: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No checkpoint without its log, nothing that says finished before all the rest is there."""
    (tmp_path / "error.txt").write_text("of an earlier try")
    written: list[str] = []
    write = parcels.write_atomically

    def full(path: Path, content: bytes) -> None:
        if len(written) == stopped_at:
            raise OSError(28, "No space left on device", str(path))
        written.append(path.name)
        write(path, content)

    monkeypatch.setattr(parcels, "write_atomically", full)
    with pytest.raises(OSError, match="No space left"):
        unpack(tmp_path, FINAL)
    there = {path.name for path in tmp_path.iterdir()}
    assert "checkpoint.bin" not in there or "training.bin" in there
    assert "episodes.parquet" not in there
    assert ("error.txt" in there) == (stopped_at < 4)


def test_a_unit_is_tried_three_times() -> None:
    attempts = Attempts()
    kinds = [attempts.lost("ppo seed 0", "its process was ended by SIGKILL").kind for _ in range(TRIES)]
    assert kinds == ["lost", "lost", "failed"]
    assert attempts.lost("ppo seed 1", "the same").kind == "lost"
