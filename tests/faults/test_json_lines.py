"""Files of JSON that a stranger wrote, for every command that reads one: read, or refused in one line."""

from __future__ import annotations

import copy
import json
import random
import time
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from solvent.files import DEEPEST, strict_json
from solvent.gate.policy import FIXED
from solvent_experiments.text import visible
from tests.commands import call
from tests.labs import ASKED_FOR, lines

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
    {"id": "b", "messages": CHAT, "agent": "x", "session": "y"},
    {"id": "c", "messages": BLOCKS},
]
CLAIMS = [
    {"claim": "Cats sleep.", "evidence": ["A lot.", "They purr."], "label": "SUPPORTS", "page": "Cats"},
    {"claim": "Dogs fly.", "evidence": "Dogs run.", "label": "REFUTES", "id": 7},
]
ABSENT_AFTER_GREP = "only Grep, then a strong negative"
TRIGGER = {"pattern": ABSENT_AFTER_GREP, "by": "J. Doe", "reason": "seen", "time": "2026-11-01T12:00:00Z"}
PROPOSAL = {**ASKED_FOR, "memory_refs": None, "design_id": "seed-1-episode-0"}
DISCOMFORT = {
    "heartbeat_number": 3, "action_considered": "screen", "estimated_value": 0.6, "energy_cost": 4.0,
    "energy_available": 2.1, "deferral_reason": "insufficient_energy", "similar_deferrals_recent": 1,
    "created_at": "2025-01-01T09:00:00.000Z", "design_id": "seed-1-episode-0",
}  # fmt: skip


RAW = {
    "@nan@": "NaN",
    "@inf@": "-Infinity",
    "@huge@": "1" + "0" * 400,
    "@long@": "9" * 5000,
    "@float@": "1e999",
    "@deep@": "[" * 90 + "]" * 90,
    "@deepest@": '{"a":' * 50_000,
    "@twice@": '{"a": 1, "a": 2}',
    "@surrogate@": '"\\ud800"',
}
"""What no value that Python writes becomes, by a text that stands for it."""
VALUES = (None, True, -1, 2**63, 1.5, "", "\x1b[2J\u202e", "a" * 5000, [], {}, [None], {"": {}}, *RAW)
ODD_KEYS = ("x", "\x1b[2J", "a" * 5000)
PIECES = (b"", b"\0", b"\xff", b"\x1b[2J", b"\n", b"{", b"]", b'"', b",", b"\\", b"\xef\xbb\xbf", b"NaN")


def lines_of(rows):
    """Return rows as a file of JSON lines."""
    return "".join(json.dumps(row) + "\n" for row in rows)


def places(value):
    """Return every container in a JSON value, with each of its keys."""
    keys = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    return [place for key in keys for place in ((value, key), *places(value[key]))]


def with_other_values(row, chance):
    """Return a row as JSON in which a key is left out or added, or has another value."""
    row = copy.deepcopy(row)
    container, key = chance.choice(places(row))
    if isinstance(container, dict):
        key = chance.choice([key, key, key, *ODD_KEYS])
    container[key] = chance.choice(VALUES)
    if isinstance(container, dict) and chance.random() < 0.25:
        del container[key]
    text = json.dumps(row)
    for mark, raw in RAW.items():
        text = text.replace(f'"{mark}"', raw)
    return text.encode()


def damaged(rows, chance):
    """Return a file of JSON lines with other values, cut off, or with bytes where none belong."""
    content = b"\n".join(
        with_other_values(row, chance) for row in chance.choices(rows, k=chance.randint(1, 3))
    )
    if chance.random() < 0.5:
        start = chance.randrange(len(content))
        content = content[:start] + chance.choice(PIECES) + content[start + chance.randrange(20) :]
    return content


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
def rows(tmp_path_factory):
    """Lines that each command can read."""
    folder = tmp_path_factory.mktemp("good")
    responses, scores = folder / "responses", folder / "scores"
    responses.write_text(lines_of(RESPONSES), encoding="utf-8")
    call("adequacy", "score", responses, "--out", scores).succeeded()
    call("adequacy", "drift", "--scores", scores, "--window", 1, "--threshold", 0).succeeded()
    ranks = ("--severity", 9, "--occurrence", 5, "--detectability", 5)
    about = ("--description", "wrong", "--by", "J. Doe", "--scores", scores)
    call("adequacy", "incident", responses, "--id", "a", *ranks, *about).succeeded()
    written = {"scores": "scores", "scored": "scores", "learned": "corrections.jsonl"}
    written |= {name: f"{name}.jsonl" for name in ("drifts", "incidents")}
    good = {"responses": RESPONSES, "triggers": [TRIGGER], "claims": CLAIMS, "proposals": [PROPOSAL]}
    good |= {"policies": [FIXED["strict"].model_dump()], "discomfort": [DISCOMFORT]}
    return good | {name: lines(folder / file) for name, file in written.items()}


@pytest.fixture
def here(tmp_path, monkeypatch, rows):
    monkeypatch.chdir(tmp_path)
    for name in ("responses", "scores"):
        (tmp_path / f"{name}.jsonl").write_text(lines_of(rows[name]), encoding="utf-8")


def assert_read_or_refused(reader, content):
    """Assert that a command ends as it may, in time, and prints nothing that moves the cursor."""
    Path(reader.file).write_bytes(content)
    Path("out.jsonl").unlink(missing_ok=True)
    begun = time.monotonic()
    ended = call(*reader.line)
    if ended.code not in reader.ends:
        ended.refused()
    assert visible(ended.out + ended.err, "\n") == ended.out + ended.err, ended
    assert time.monotonic() - begun < PATIENCE


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("name", READERS)
def test_a_file_is_read(name, rows):
    assert_read_or_refused(READERS[name], lines_of(rows[name]).encode())


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("name", READERS)
@given(seed=st.integers(0, 2**32))
@settings(max_examples=10, phases=[Phase.generate], database=None, suppress_health_check=list(HealthCheck))
def test_a_damaged_file_is_read_or_refused_in_a_line(name, rows, seed):
    assert_read_or_refused(READERS[name], damaged(rows[name], random.Random(seed)))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[" * (DEEPEST + 1) + "]" * (DEEPEST + 1), "nested deeper than"),
        ("[" * 100_000, "nested deeper than"),
        ('{"a": [1, NaN]}', "got NaN, not a finite number"),
        ('{"a": {"b": 1, "b": 1}}', "a key is given twice"),
        (b'"\xff"', "utf-8"),
        ("", "Expecting value"),
    ],
)
def test_json_is_strict(text, said):
    with pytest.raises(ValueError, match=said):
        strict_json(text)


def test_json_may_be_as_deep_as_allowed():
    whole = "[" * DEEPEST + "]" * DEEPEST
    assert strict_json("\ufeff".encode() + whole.encode()) == json.loads(whole)
