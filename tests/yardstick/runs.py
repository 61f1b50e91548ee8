"""What programs print and leave behind: runs through the command line, and the example of an own agent."""

from __future__ import annotations

import platform
import re
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import yaml

import solvent
from tests.yardstick.digest import of, of_log

ROOT = Path(solvent.__file__).parents[2]
CONFIGS = ROOT / "configs"
SMOKE = ("smoke", "smoke_energy", "smoke_gate", "smoke_frontier", "smoke_lab")
TRACED = range(10_000, 10_010)
LEARNED = "ppo"
KEYS = ("agent", "training_seed", "episode_seed", "heartbeat", "slot")


def called(*command: str) -> str:
    ended = subprocess.run([sys.executable, *command], capture_output=True, text=True, check=False, cwd=ROOT)
    if ended.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {ended.returncode}\n{ended.stderr[-2000:]}")
    return ended.stdout


def made_with() -> dict[str, str]:
    """Return what a training depends on to the bit: libraries and processor."""
    info = Path("/proc/cpuinfo")
    named = re.search(r"model name\s*:\s*(.+)", info.read_text()) if info.exists() else None
    libraries = {name: version(name) for name in ("numpy", "torch", "stable-baselines3", "sb3-contrib")}
    return libraries | {"processor": named[1] if named else platform.processor()}


def table(folder: Path, name: str) -> pa.Table:
    """Return the joined table of a run in a fixed order of rows."""
    rows = pq.read_table(min(folder.rglob(name), key=lambda path: len(path.parts)))
    rows = rows.set_column(0, "agent", rows["agent"].cast(pa.string()))
    return rows.sort_by([(key, "ascending") for key in KEYS if key in rows.column_names])


def columns(rows: pa.Table) -> dict[str, str]:
    return {name: of(rows[name].to_pylist()) for name in rows.column_names}


def ledgers(folder: Path) -> dict[str, Any]:
    """Return digests of the ledgers' lines about the traced episodes; a line's ``design_id`` ends in its seed."""
    traced = re.compile(rf'lab({"|".join(map(str, TRACED))})"')
    found = {}
    for path in sorted(folder.glob("*/*.jsonl")):
        lines = path.read_text(encoding="utf-8").splitlines()
        found[path.relative_to(folder).as_posix()] = of_log([line for line in lines if traced.search(line)])
    return found


def smoke(name: str, folder: Path) -> dict[str, Any]:
    """Return a small run's columns, and apart from them those of the learner, equal on one machine only."""
    called("-m", "solvent_experiments", "run", f"configs/{name}.yaml", "--out", str(folder))
    found: dict[str, Any] = {"ledgers": ledgers(folder), "local": {"made with": made_with()}}
    traces = table(folder, "traces.parquet")
    traces = traces.filter(pc.is_in(traces["episode_seed"], pa.array(TRACED)))
    for what, rows in {"episodes": table(folder, "episodes.parquet"), "traces": traces}.items():
        learned = pc.equal(rows["agent"], LEARNED)
        found[what] = columns(rows.filter(pc.invert(learned)))
        found["local"][what] = columns(rows.filter(learned))
    return found


def quickstart(folder: Path) -> dict[str, Any]:
    """Return each agent's means in the quickstart at a tenth of its size."""
    config = yaml.safe_load((CONFIGS / "quickstart.yaml").read_text(encoding="utf-8"))
    config["train"][LEARNED]["n_timesteps"] = 220_000
    config["seeds"] = [0]
    config["evaluation"] |= {"episodes": 400, "slow_episodes": 20}
    (folder / "tenth.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    called("-m", "solvent_experiments", "run", str(folder / "tenth.yaml"), "--out", str(folder / "run"))
    rows = table(folder / "run", "episodes.parquet").group_by("agent")
    found = {}
    for row in rows.aggregate([(name, "mean") for name in ("return", "refusals", "debt")]).to_pylist():
        agent = row.pop("agent")
        found[agent] = {name: round(value, 6) for name, value in row.items()}
    return found | {"local": {"made with": made_with(), LEARNED: found.pop(LEARNED)}}


def runs() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        found = {name: smoke(name, Path(folder, name)) for name in SMOKE}
        return found | {"quickstart": quickstart(Path(folder, "quickstart"))}


def own_agent() -> dict[str, Any]:
    """Return the lines of the example agent's first and second run, without the names of files and proposals."""
    with tempfile.TemporaryDirectory() as folder:
        printed = [called("examples/own_agent.py", folder) for _ in range(2)]
    said = [
        re.sub(r"\b[0-9a-f]{8}\b", "ID", text.partition("written to ")[0]).splitlines() for text in printed
    ]
    return dict(zip(("first", "second"), said, strict=True))
