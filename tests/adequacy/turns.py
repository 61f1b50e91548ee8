"""Calls of common tools, and turns with the scores that are right by the rubric (docs/adequacy_labels.md)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from solvent.adequacy import Call

LINES = Path(__file__).with_name("cases").joinpath("turns.jsonl").read_text(encoding="utf-8").splitlines()
TURNS = {turn["name"]: turn for turn in map(json.loads, LINES)}


def bash(command: str, result: str, failed: bool | None = None) -> Call:
    return Call("Bash", {"command": command}, result, failed)


def tool(name: str, result: str, failed: bool | None = None, **arguments: Any) -> Call:
    return Call(name, arguments, result, failed)


READS = [tool("Read", f"code {i}", file_path=f"{i}.py") for i in range(5)]
