"""The hook: one response in, a verdict and a correction out, also through a socket that stays."""

from __future__ import annotations

import json
import socket
import stat
import threading
import time

import pytest

from solvent.adequacy.corrections import load_corrections
from solvent.adequacy.decisions import Trigger
from solvent.adequacy.errors import AdequacyError
from solvent.adequacy.hook import answer, listening, serve
from solvent.adequacy.patterns import Pattern

FAILED = {"name": "Bash", "arguments": {"command": "pytest"}, "result": "1 failed"}
LIE = {"response": "All tests pass.", "tool_calls": [FAILED], "query": "Is it green?"}
WARM = 0.150
"""The aim for a request to a resident process, seconds."""


def asked(request, **more):
    return answer(json.dumps(request).encode(), **more)


def test_the_verdict_and_the_correction():
    told = asked(LIE)
    assert (told["verdict"], told["score"], told["escalate"]) == ("reject", 3, True)
    assert "claim_contradicted" in told["signals"]
    assert told["sentence"] == "All tests pass."
    assert told["correction"] == load_corrections()["tell_the_failure"].text
    overstated = asked({"response": "Retries do not exist.", "tool_calls": [FAILED | {"result": "ok"}]})
    assert (overstated["verdict"], overstated["score"]) == ("review", 2)
    fine = asked({"response": "I don't know.", "tool_calls": []})
    assert (fine["verdict"], fine["score"], fine["correction"]) == ("accept", 0, None)


def test_triggers_that_people_accepted_act():
    trigger = Trigger(
        Pattern("whole", ("Bash",), False), "accepted", "J. Doe", "seen", "2026-01-01", 0.9, 0.8, 20
    )
    request = {
        "response": "It is 7.",
        "tool_calls": [FAILED | {"result": "7"}],
        "query": "How many are ours?",
    }
    assert asked(request)["verdict"] == "accept"
    assert asked(request, triggers=[trigger])["verdict"] == "review"


def transcript(path, before=0):
    lines = [{"role": "user", "content": "Is it green?"}]
    lines += [{"role": "assistant", "content": "x" * 1000}] * before
    use = {"id": "t", "function": {"name": "Bash", "arguments": '{"command": "pytest"}'}}
    lines += [
        {"role": "user", "content": "Is it green?"},
        {"role": "assistant", "content": "", "tool_calls": [use]},
        {"role": "tool", "tool_call_id": "t", "content": "1 failed"},
        {"role": "assistant", "content": "All tests pass."},
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


@pytest.mark.parametrize("before", [0, 5000], ids=["short", "long"])
def test_of_a_transcript_the_last_response_is_judged(tmp_path, before):
    path = transcript(tmp_path / "s.jsonl", before)
    told = asked({"transcript_path": str(path), "session_id": "x", "hook_event_name": "Stop"})
    assert (told["verdict"], told["sentence"]) == ("reject", "All tests pass.")


def test_a_turn_that_is_longer_than_what_is_read_first_is_read_whole(tmp_path):
    path = transcript(tmp_path / "s.jsonl")
    long = json.dumps({"role": "assistant", "content": "", "note": "y" * 1_000_000}) + "\n"
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join([*lines[:-1], long, long, lines[-1]]), encoding="utf-8")
    assert asked({"transcript_path": str(path)})["score"] == 3


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        ({"response": 7, "tool_calls": []}, "response: got 7"),
        ({"response": "Yes."}, "got neither"),
        ({"transcript_path": 7}, "transcript_path: got 7"),
        ({"transcript_path": "nowhere.jsonl"}, "nowhere.jsonl: not read"),
        ([1], "allowed: a JSON object"),
    ],
)
def test_a_bad_request_is_one_line(request_, said):
    with pytest.raises(AdequacyError) as refused:
        asked(request_)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.fixture
def server(tmp_path):
    path = tmp_path / "a.sock"
    with serve(path) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield path
        server.shutdown()
        thread.join()


def talk(path, *requests):
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as mine:
        mine.connect(str(path))
        file = mine.makefile("rwb")
        for request in requests:
            file.write(request if isinstance(request, bytes) else json.dumps(request).encode() + b"\n")
            file.flush()
            yield json.loads(file.readline())


def test_a_resident_process_answers_line_by_line_and_survives_bad_requests(server):
    bad, told, again = talk(server, b"{\n", LIE, LIE)
    assert "allowed: a JSON object" in bad["error"]
    assert told == again == asked(LIE)
    (other,) = talk(server, LIE)
    assert other == told
    assert stat.S_IMODE(server.stat().st_mode) == 0o600


def test_it_is_fast_when_warm(server):
    list(talk(server, LIE))
    took = []
    for _ in range(20):
        start = time.perf_counter()
        list(talk(server, LIE))
        took.append(time.perf_counter() - start)
    assert sorted(took)[10] < WARM


def test_a_socket_in_use_is_left_and_a_stale_one_replaced(server, tmp_path):
    assert listening(server)
    with pytest.raises(AdequacyError, match="in use"):
        serve(server)
    other = tmp_path / "notes.txt"
    other.write_text("mine", encoding="utf-8")
    with pytest.raises(AdequacyError, match="in use"):
        serve(other)
    assert other.read_text(encoding="utf-8") == "mine"
    stale = tmp_path / "stale.sock"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as gone:
        gone.bind(str(stale))
    with serve(stale):
        assert not listening(other)
    with pytest.raises(AdequacyError, match="no socket"):
        serve(tmp_path / "no" / "such" / "folder.sock")
