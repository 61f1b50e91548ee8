"""Record what Solvent does, or compare it with what was recorded (``kept.json``).

    python -m tests.yardstick compare               every part; exit code 1 if any differs
    python -m tests.yardstick record worlds agents  some parts, kept beside the others

The tree that is measured is the one that ``import solvent`` finds, so PYTHONPATH chooses it.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.yardstick.digest import differences

KEPT = Path(__file__).with_name("kept.json")
PARTS = {"worlds": "worlds", "agents": "agents"}
"""Part -> the module that has a function of its name."""


def measured(part: str) -> dict[str, Any]:
    measure: Callable[[], dict[str, Any]] = getattr(import_module(f"tests.yardstick.{PARTS[part]}"), part)
    return measure()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.yardstick", description=__doc__)
    parser.add_argument("command", choices=("record", "compare"))
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)} (default: all)")
    given = parser.parse_args()
    if unknown := sorted(set(given.parts) - set(PARTS)):
        parser.error(f"PART: got {unknown[0]!r}; allowed: {', '.join(PARTS)}")
    kept = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
    apart = 0
    for part in given.parts or PARTS:
        result = measured(part)
        if not result:  # what it needs is not on this machine
            continue
        if given.command == "record":
            kept[part] = result
            rows = [f"{json.dumps(name)}: {json.dumps(kept[name], sort_keys=True)}" for name in sorted(kept)]
            KEPT.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")
            print(f"{part}: recorded", flush=True)
        else:
            text = [*differences(kept.get(part), json.loads(json.dumps(result)), part)]
            apart += len(text)
            print("\n".join(text) or f"{part}: equal", flush=True)
    return int(apart > 0)


if __name__ == "__main__":
    raise SystemExit(main())
