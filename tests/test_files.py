"""Files that several processes write: one holds a lock at a time, and none loses a line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from solvent.files import InputError, append_lines, read_records, strict_json, write_json


def at_once(code: str, *arguments: object) -> list[int]:
    """Exit codes of three processes that execute ``code`` at the same time, with their number as last argument."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    processes = [subprocess.Popen([*command, str(number)]) for number in range(3)]
    return [process.wait(60) for process in processes]


def test_one_process_at_a_time_holds_a_lock(tmp_path: Path) -> None:
    """The holder makes a file that must not exist yet, and removes it."""
    code = (
        "import sys; from pathlib import Path; from solvent.files import locked\n"
        "for _ in range(500):\n"
        "    with locked(Path(sys.argv[1], 'lock'), 20.0):\n"
        "        Path(sys.argv[1], 'held').touch(exist_ok=False); Path(sys.argv[1], 'held').unlink()"
    )
    assert at_once(code, tmp_path) == [0, 0, 0]


@pytest.mark.parametrize("length", [100, 100_000], ids=["shorter than a buffer", "longer"])
def test_a_full_disk_takes_no_part_of_a_line(tmp_path: Path, length: int) -> None:
    resource = pytest.importorskip("resource", reason="only POSIX limits the size of a file")
    append_lines(tmp_path / "log", ["whole"])
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50, limits[1]))
    try:
        with pytest.raises(OSError, match="log"):
            append_lines(tmp_path / "log", ["x" * length])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert (tmp_path / "log").read_bytes() == b"whole\n"


def test_processes_that_append_at_once_lose_no_line(tmp_path: Path) -> None:
    """Lines longer than a buffer, which the operating system may write in parts."""
    code = (
        "import sys; from solvent.files import append_lines\n"
        "for i in range(100): append_lines(sys.argv[1], [f'{sys.argv[2]} {i} ' + 'x' * 10_000])"
    )
    assert at_once(code, tmp_path / "log") == [0, 0, 0]
    written = [line.split()[:2] for line in (tmp_path / "log").read_text(encoding="utf-8").splitlines()]
    assert sorted(written) == sorted([str(number), str(i)] for number in range(3) for i in range(100))


def test_half_an_emoji_is_written_as_its_escape(tmp_path: Path) -> None:
    words = {"reason": "\ud83d α"}
    append_lines(tmp_path / "log", [json.dumps(words, ensure_ascii=False)])
    write_json(tmp_path / "file", words)
    for name in ("log", "file"):
        assert json.loads((tmp_path / name).read_text(encoding="utf-8")) == words


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "1e999", "[-1e999]"])
def test_a_number_that_is_not_finite_is_refused(number: str) -> None:
    with pytest.raises(ValueError, match="not a finite number"):
        strict_json(f'{{"a": {number}}}')


def test_a_finite_number_is_read_as_written() -> None:
    assert strict_json("[1e3, 0.1, -2, 1e-999]") == [1000.0, 0.1, -2, 0.0]


def test_a_missing_file_has_no_records_where_it_may_be_missing(tmp_path):
    assert list(read_records(tmp_path / "x.jsonl", dict, missing_ok=True)) == []


def test_a_name_that_no_file_can_have_is_refused():
    with pytest.raises(InputError, match="x"):
        list(read_records("x" * 300, dict, missing_ok=True))
