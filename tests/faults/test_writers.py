"""Several processes that want the same folder at once: one alone has it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PATIENCE = 300  # seconds


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
        time.sleep(0.001)  # on a machine with one core, the holder has to have its turn
print(held, doubles)
"""


def test_of_many_processes_only_one_holds_the_lock(tmp_path: Path) -> None:
    tried = 250
    started = [
        subprocess.Popen(
            [sys.executable, "-c", HOLD, str(tmp_path / "run"), str(tried), str(number)],
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(4)
    ]
    said = [process.communicate(timeout=PATIENCE)[0] for process in started]
    assert [process.returncode for process in started] == [0] * 4
    held, doubles = ([int(line.split()[i]) for line in said] for i in range(2))
    assert sum(doubles) == 0
    assert sum(one > 0 for one in held) > 1
    assert sum(held) < 4 * tried, "they met at least once"
