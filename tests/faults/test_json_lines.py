"""Files of JSON that a stranger wrote, for every command that reads one: read, or refused in one line."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from solvent.files import DEEPEST, strict_json
from solvent.gate.policy import FIXED
from solvent_experiments.text import visible
from tests.commands import call
from tests.labs import ASKED_FOR

PATIENCE = 20.0
"""Seconds for a file; most take a hundredth of one."""

CALL = {"name": "Grep", "arguments": {"pattern": "bar", "path": "src/a"}, "result": "", "error": False}
USER = {"role": "user", "content": "Is bar there?"}
SAID = {"role": "assistant", "content": [{"type": "text", "text": "bar does not exist."}]}
FUNCTION = {"id": "0", "type": "function", "function": {"name": "Grep", "arguments": '{"pattern": "bar"}'}}
ASKED = {"role": "assistant", "tool_calls": [FUNCTION]}
CHAT = [USER, ASKED, {"role": "tool", "tool_call_id": "0", "content": "nothing"}, SAID]
USED = {"type": "tool_use", "id": "0", "name": "Grep", "input": {"pattern": "bar"}}
RESULT = {"type": "tool_result", "tool_use_id": "0", "content": "nothing"}
BLOCKS = [USER, {"role": "assistant", "content": [USED]}, {"role": "user", "content": [RESULT]}, SAID]
RESPONSES = [
    {"id": "a", "query": "Is bar there?", "response": "bar does not exist.", "tool_calls": [CALL], "epad": 2},
    {"id": "b", "response": "It is.", "messages": CHAT, "agent": "x", "session": "y"},
    {"id": "c", "response": "It is.", "messages": BLOCKS},
]
CLAIMS = [
    {"claim": "Cats sleep.", "evidence": ["A lot.", "They purr."], "label": "SUPPORTS", "page": "Cats"},
    {"claim": "Dogs fly.", "evidence": "Dogs run.", "label": "REFUTES", "id": 7},
]
TRIGGER = {
    "pattern": "only Grep, then a strong negative",
    "by": "J. Doe",
    "reason": "seen",
    "time": "2026-11-01T12:00:00Z",
}
PROPOSAL = {**ASKED_FOR, "memory_refs": None, "design_id": "seed-1-episode-0"}
DISCOMFORT = {
    "heartbeat_number": 3,
    "action_considered": "screen",
    "estimated_value": 0.6,
    "energy_cost": 4.0,
    "energy_available": 2.1,
    "deferral_reason": "insufficient_energy",
    "similar_deferrals_recent": 1,
    "created_at": "2025-01-01T09:00:00.000Z",
    "design_id": "seed-1-episode-0",
}

# ------------------------------------------------------------------------------------------ what is done to them

VALUES = (
    *("null", "true", "-1", "9223372036854775808", "1.5", '""', "[]", "{}", "[null]", '{"": {}}'),
    *("NaN", "-Infinity", "1e999", "1" + "0" * 400, "9" * 5000, '{"a": 1, "a": 2}', r'"\ud800"'),
    *("[" * 90 + "]" * 90, '{"a":' * 50_000, r'"\u001b[2J\u202e"', f'"{"a" * 5000}"'),
)
"""What stands in the place of a value."""
PIECES = (b"", b"\0", b"\xff", b"\x1b[2J", b"\n", b"{", b"]", b'"', b",", b"\\", b"\xef\xbb\xbf", b"NaN")
"""What stands in the middle of a line, of which the rest is lost or kept."""


def damaged(row: dict[str, Any]) -> Iterator[bytes]:
    """Yield a line with other values, each at another key, without a key, cut off, or with bytes where none belong."""
    for key, value in zip(itertools.cycle(row), VALUES, strict=False):
        yield json.dumps({**row, key: "@"}).replace('"@"', value).encode()
        yield json.dumps({**row, "x": "@"}).replace('"@"', value).encode()
    for key in row:
        yield json.dumps({name: value for name, value in row.items() if name != key}).encode()
    line = json.dumps(row).encode()
    for piece in PIECES:
        yield line[: len(line) // 2] + piece
        yield line[: len(line) // 3] + piece + line[len(line) // 3 :]


class Reader(NamedTuple):
    """A command that reads a file, codes other than 2 with which it may end, and the file's name."""

    line: tuple[str, ...]
    ends: tuple[int, ...] = (0,)
    file: str = "file"


OUT = ("--out", "out.jsonl")
READERS = {
    "responses": Reader(("adequacy", "score", "file", *OUT)),
    "scores": Reader(("adequacy", "drift", "--scores", "file")),
    "scored": Reader(("adequacy", "patterns", "--scores", "file")),
    "incidents": Reader(("adequacy", "patterns"), file="incidents.jsonl"),
    "triggers": Reader(("adequacy", "score", "responses.jsonl", *OUT), file="triggers.jsonl"),
    "drifts": Reader(("adequacy", "drift"), file="drifts.jsonl"),
    "learned": Reader(("adequacy", "drift"), file="corrections.jsonl"),
    # There is no such model: a command that goes on after it has read the file ends there.
    "claims": Reader(("gate", "sweep", "--dataset", "file", *OUT, "--model", "none"), ()),
    "policies": Reader(("gate", "judge", "none", "--policy", "P10", "--policies", "file"), ()),
    "proposals": Reader(("proposals", "file", "file", "--store", "store.db")),
    "discomfort": Reader(("proposals", "log", "file", "--store", "store.db")),
}


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    """Lines that each command can read."""
    folder = tmp_path_factory.mktemp("good")
    responses, scores = folder / "responses", folder / "scores"
    responses.write_text("".join(json.dumps(line) + "\n" for line in RESPONSES), encoding="utf-8")
    call("adequacy", "score", responses, "--out", scores).succeeded()
    call("adequacy", "drift", "--scores", scores, "--window", 1, "--threshold", 0).succeeded()
    ranks = ("--severity", 9, "--occurrence", 5, "--detectability", 5)
    about = ("--description", "wrong", "--by", "J. Doe", "--scores", scores)
    call("adequacy", "incident", responses, "--id", "a", *ranks, *about).succeeded()
    scored, drifts, incidents, learned = (
        [json.loads(line) for line in (folder / name).read_text(encoding="utf-8").splitlines()]
        for name in ("scores", "drifts.jsonl", "incidents.jsonl", "corrections.jsonl")
    )
    return {
        "responses": RESPONSES,
        "scores": scored,
        "scored": scored,
        "incidents": incidents,
        "triggers": [TRIGGER],
        "drifts": drifts,
        "learned": learned,
        "claims": CLAIMS,
        "policies": [FIXED["strict"].model_dump()],
        "proposals": [PROPOSAL],
        "discomfort": [DISCOMFORT],
    }


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: dict[str, list[Any]]) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("responses", "scores"):
        text = "".join(json.dumps(row) + "\n" for row in rows[name])
        (tmp_path / f"{name}.jsonl").write_text(text, encoding="utf-8")
    return tmp_path


def fault_of(reader: Reader, content: bytes) -> str:
    """What is wrong with how a command takes a file; empty if nothing is."""
    Path(reader.file).write_bytes(content)
    Path("out.jsonl").unlink(missing_ok=True)
    begun = time.monotonic()
    ended = call(*reader.line)
    try:
        if ended.code not in reader.ends:
            ended.refused()
        assert visible(ended.out + ended.err, "\n") == ended.out + ended.err, ended
        assert time.monotonic() - begun < PATIENCE
    except AssertionError as error:
        return f"{str(error)[:400]!a} of {content[:1000]!a}"
    return ""


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("name", READERS)
def test_a_file_is_read_or_refused_in_a_line(name: str, rows: dict[str, list[Any]]) -> None:
    reader, lines = READERS[name], rows[name]
    complete = "".join(json.dumps(row) + "\n" for row in lines).encode()
    faults = [fault for content in (complete, *damaged(lines[0])) if (fault := fault_of(reader, content))]
    assert not faults, "\n".join(faults[:5])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[" * (DEEPEST + 1) + "]" * (DEEPEST + 1), "nested deeper than"),
        ("[" * 100_000, "nested deeper than"),
        ('{"a": [1, NaN]}', "got NaN, not a finite number"),
        ('{"a": {"b": 1, "b": 1}}', "a key is given twice"),
        (b'"\xff"', "utf-8"),
        ("", "Expecting value"),
    ],
)
def test_json_is_strict(text: str | bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        strict_json(text)
    complete = "[" * DEEPEST + "]" * DEEPEST
    assert strict_json("\ufeff".encode() + complete.encode()) == json.loads(complete)
