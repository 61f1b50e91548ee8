"""Calls of common tools, scored responses, and turns with the scores that docs/data_card.md gives them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from solvent.adequacy import Call, score
from solvent.adequacy.drift import DriftMonitor
from solvent.adequacy.formats import Turn
from solvent.adequacy.records import Incident, Ratings, record_of, rows_of
from tests.labs import lines

TURNS = {turn["name"]: turn for turn in lines(Path(__file__).with_name("cases") / "turns.jsonl")}


def bash(command: str, result: str, failed: bool | None = None) -> Call:
    return Call("Bash", {"command": command}, result, failed)


def tool(name: str, result: str, failed: bool | None = None, **arguments: Any) -> Call:
    return Call(name, arguments, result, failed)


READS = [tool("Read", f"code {i}", file_path=f"{i}.py") for i in range(5)]
READ = tool("Read", "def send(request): ...", file_path="src/client.py")


def record(i, epad, session="s", tools=("Read",), **ratings):
    """A scored response: a denial for 2 and 3, else a hedge."""
    response = "Retries do not exist." if epad > 1 else "It may retry."
    calls = tuple(Call(name, {}, "x") for name in tools)
    given = Ratings(**({"heuristic": epad} | ratings))
    return record_of(Turn(f"{i}", "", response, calls), score(response, calls), session=session, epad=given)


def records(*scores, **fields):
    """Scored responses of a session, by their scores."""
    return [record(i, epad, **fields) for i, epad in enumerate(scores)]


def events(*scores, **settings):
    """The drifts of a session with these scores."""
    monitor = DriftMonitor(**settings)
    return [event for one in records(*scores) if (event := monitor.observe(one))]


def incident(**changes):
    """A denial after one read, that was wrong and acted upon."""
    fields = {"id": "r1", "severity": 9, "occurrence": 4, "detectability": 7, "description": "The client does retry",
              "response": "Retries do not exist in this codebase.", "tool_calls": rows_of([READ]),
              "reported_by": "J. Doe"}  # fmt: skip
    return Incident.model_validate(fields | changes)
