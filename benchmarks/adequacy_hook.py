"""What the hook of adequacy costs: a process for each response, and one that stays.

    python -m benchmarks.adequacy_hook

The cold start runs ``solvent adequacy hook`` anew for each response. Warm are requests to ``--listen`` over a new
connection each: with the calls in the request, and with a transcript of 20 MB of which the last response is judged. The
aim is 150 ms warm at the 95th percentile.
"""

from __future__ import annotations

import json
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.measure import machine

AIM = 0.150
COLD, WARM = 5, 200
COMMAND = (sys.executable, "-m", "solvent_experiments", "adequacy", "hook")
READ = {
    "name": "Read",
    "arguments": {"path": "src/pool.py"},
    "result": "class Pool:\n    def take(self): ...\n" * 200,
}
REQUEST = {
    "query": "Where is the pool emptied?",
    "response": "The pool is emptied in `src/pool.py`. Nothing else closes its connections. " * 4,
    "tool_calls": [READ | {"arguments": {"path": f"src/{i}.py"}} for i in range(8)],
}


def transcript(path: Path, size: int) -> Path:
    """Write a transcript of at least ``size`` bytes."""
    with path.open("w", encoding="utf-8") as file:
        turn = 0
        while file.tell() < size:
            turn += 1
            lines: list[dict[str, Any]] = [{"role": "user", "content": f"Question {turn}: where is it?"}]
            for i in range(4):
                use = {"id": f"{turn}-{i}", "function": {"name": "Read", "arguments": '{"path": "a.py"}'}}
                lines.append({"role": "assistant", "content": "", "tool_calls": [use]})
                lines.append({"role": "tool", "tool_call_id": f"{turn}-{i}", "content": READ["result"]})
            lines.append({"role": "assistant", "content": "It is in `src/pool.py`."})
            file.writelines(json.dumps(line) + "\n" for line in lines)
    return path


def cold(request: bytes) -> list[float]:
    taken = []
    for _ in range(COLD):
        start = time.perf_counter()
        subprocess.run(COMMAND, input=request, check=True, stdout=subprocess.DEVNULL)
        taken.append(time.perf_counter() - start)
    return taken


def warm(path: Path, request: bytes) -> list[float]:
    taken = []
    for _ in range(WARM):
        start = time.perf_counter()
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as mine:
            mine.connect(str(path))
            mine.sendall(request + b"\n")
            answered = mine.makefile("rb").readline()
        taken.append(time.perf_counter() - start)
        assert b'"verdict"' in answered, answered
    return taken


def main() -> None:
    """Print a row for each way to ask."""
    print("  ".join(f"{key} {value}" for key, value in machine().items()))
    with tempfile.TemporaryDirectory() as folder:
        path, session = Path(folder) / "hook.sock", transcript(Path(folder) / "s.jsonl", 20_000_000)
        direct, named = json.dumps(REQUEST).encode(), json.dumps({"transcript_path": str(session)}).encode()
        rows = [("a process each", cold(direct))]
        server = subprocess.Popen([*COMMAND, "--listen", str(path)], stderr=subprocess.DEVNULL)
        try:
            while not path.exists():
                time.sleep(0.05)
            rows += [
                ("resident, calls given", warm(path, direct)),
                ("resident, transcript", warm(path, named)),
            ]
        finally:
            server.terminate()
            server.wait()
    print(f"{'milliseconds':28}{'median':>10}{'95 %':>10}{'most':>10}")
    for name, taken in rows:
        ordered = sorted(taken)
        late = ordered[int(0.95 * (len(ordered) - 1))]
        aim = "" if name == "a process each" else f"  {AIM * 1000:.0f}: {'met' if late <= AIM else 'missed'}"
        numbers = (statistics.median(taken), late, ordered[-1])
        print(f"{name:28}" + "".join(f"{1000 * number:10.1f}" for number in numbers) + aim)


if __name__ == "__main__":
    main()
