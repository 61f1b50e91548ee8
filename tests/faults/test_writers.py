"""Several processes that write the same thing at once: one after the other, or one alone, and never a mixture."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from solvent.energy.store import CostStore

PATIENCE = 300  # seconds


def four(program: str, *arguments: object) -> list[str]:
    """Run a program in four processes at once, and return what each said."""
    started = [
        subprocess.Popen(
            [sys.executable, "-c", program, *map(str, arguments), str(number)],
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(4)
    ]
    said = [process.communicate(timeout=PATIENCE)[0] for process in started]
    assert [process.returncode for process in started] == [0] * 4
    return said


HOLD = """
import sys, time
from pathlib import Path
from solvent_experiments.config import ConfigError
from solvent_experiments.folder import RunFolder

root, rounds, number = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
root.with_name(f"ready-{number}").touch()
while len(list(root.parent.glob("ready-*"))) < 4:
    time.sleep(0.001)
held = doubles = 0
for _ in range(rounds):
    try:
        with RunFolder(root).locked():
            held += 1
            try:
                (root / "holder").mkdir()  # fails if there is another
                (root / "holder").rmdir()
            except OSError:
                doubles += 1
    except ConfigError:
        pass
print(held, doubles)
"""


def test_of_many_processes_only_one_holds_the_lock(tmp_path: Path) -> None:
    tried = 250
    said = [list(map(int, line.split())) for line in four(HOLD, tmp_path / "run", tried)]
    held, doubles = ([one[i] for one in said] for i in range(2))
    assert sum(doubles) == 0
    assert sum(one > 0 for one in held) > 1
    assert sum(held) < 4 * tried, "they met at least once"


LOG = """
import sys
from solvent.energy import Discomfort
from solvent.energy.store import CostStore

place, rows, number = sys.argv[1], int(sys.argv[2]), sys.argv[3]
with CostStore(place) as store:
    for beat in range(rows):
        store.log_discomfort(
            Discomfort(heartbeat_number=beat, action_considered=number, energy_cost=4.0, energy_available=1.0,
                       deferral_reason="insufficient_energy")
        )
"""


def test_what_four_processes_log_is_all_there(tmp_path: Path) -> None:
    tried, rows, wrong = 1, 25, []
    for number in range(tried):
        place = tmp_path / f"{number}.db"  # not there yet: they also make it at once
        four(LOG, place, rows)
        with CostStore(place, create=False) as store:
            found = sorted((int(row.action_considered), row.heartbeat_number) for row in store.discomfort())
        if found != [(writer, beat) for writer in range(4) for beat in range(rows)]:
            wrong.append((number, len(found)))
    assert not wrong
