"""``solvent adequacy`` as a newcomer meets it: scoring with and without a judge, labelling in a real terminal."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path
from typing import Any

import pytest

from solvent.adequacy.decisions import accept
from solvent.adequacy.patterns import Case, Pattern, extract
from solvent.adequacy.scores import merged, read_scores
from tests.adequacy.judge_server import asking, grades, reply, running, silence, text
from tests.commands import call, launching, terminal, wait_until

AGENTS = Path(__file__).resolve().parents[2] / "envs" / "solvent" / "adequacy" / "labelled_agents_dev.jsonl"
DEV = Path(__file__).resolve().parents[2] / "envs" / "solvent" / "adequacy" / "labelled_dev.jsonl"
COMMANDS = ("score", "label", "thresholds", "patterns", "drift", "incident", "hook", "evaluate")
KEY = "sk-real-0123456789abcdef"
READ = {"name": "Read", "arguments": {"path": "a.py"}, "result": "def foo(): pass"}
GREP = {"name": "Grep", "arguments": {"pattern": "bar", "path": "src/a"}, "result": ""}
LINES: list[dict[str, Any]] = [
    {"id": "none", "query": "Is it there?", "response": "This feature is not available.", "tool_calls": []},
    {"id": "thin", "query": "Is bar there?", "response": "bar does not exist.", "tool_calls": [READ]},
    {"id": "fits", "query": "Where is foo?", "response": "I found foo in a.py.", "tool_calls": [READ, GREP]},
    {"response": "I did not find bar in a.py; it may be elsewhere.", "tool_calls": [READ]},
]


@pytest.fixture(autouse=True)
def own(monkeypatch, tmp_path):
    monkeypatch.setenv("SOLVENT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("SOLVENT_JUDGE_KEY", raising=False)
    monkeypatch.chdir(tmp_path)


def adequacy(*arguments):
    return call("adequacy", *arguments)


def write(path, lines):
    path.write_text("".join((x if isinstance(x, str) else json.dumps(x)) + "\n" for x in lines))
    return path


@pytest.fixture
def file(tmp_path):
    return write(tmp_path / "responses.jsonl", LINES)


SESSION: list[dict[str, Any]] = [
    {"role": "user", "content": "Fix the test."},
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": "t", "function": {"name": "Bash", "arguments": '{"command": "pytest"}'}}],
    },
    {"role": "tool", "tool_call_id": "t", "content": "1 failed, 2 passed"},
    {"role": "assistant", "content": "All tests pass."},
]


# -------------------------------------------------------------------------------------------------- sessions


def test_a_session_is_scored_turn_by_turn_and_a_broken_line_named(tmp_path):
    path = write(tmp_path / "session.jsonl", SESSION)
    adequacy("score", path, "--act").out.index("acting: 1 of 1 responses score 3")
    (record,) = read_scores("scores.jsonl")
    assert (record.id, record.epad.heuristic) == ("session:4", 3)
    assert record.tool_context["tool_types"] == ["Bash"]
    broken = write(tmp_path / "broken.jsonl", [*SESSION[:3], '{"role": ', SESSION[3]])
    adequacy("score", broken, "--out", "b.jsonl").refused("line 4: ", "--skip-broken")
    assert not Path("b.jsonl").exists()
    ended = adequacy("score", broken, "--out", "b.jsonl", "--skip-broken")
    ended.succeeded("definitive/thin")
    assert "skipped: line 4: " in ended.err


def test_an_incident_is_logged_with_its_risk_and_leads_on(file):
    given = ("--severity", "high", "--occurrence", 4, "--detectability", 7, "--description", "bar is there")
    said = adequacy("incident", file, "--id", "thin", *given, "--by", "J. Doe").succeeded()
    assert "RPN 252 (9 x 4 x 7), definitive/thin: bar is there" in said
    assert "Next: `solvent adequacy patterns --incidents incidents.jsonl`" in said
    line = json.loads(Path("incidents.jsonl").read_text(encoding="utf-8"))
    assert (line["rpn"], line["reported_by"], line["response"]) == (252, "J. Doe", "bar does not exist.")
    adequacy("incident", file, "--id", "thin", *given, "--by", "J. Doe").succeeded(
        "logged 0 incidents; 1 were there"
    )
    adequacy("incident", file, "--id", "none").refused("--severity", "--by")
    adequacy("incident", file, "--id", "zebra", *given, "--by", "x").refused("got 'zebra'")
    adequacy("incident", file, "--id", "none", *given[2:], "--severity", "11", "--by", "x").refused("1 to 10")
    adequacy("incident", file, "--id", "none", *given[2:], "--severity", "grim", "--by", "x").refused(
        "low, medium"
    )


VERDICT = {
    "event": "verdict",
    "timestamp": "2025-01-01T09:00:00.000Z",
    "compound": "a",
    "audience": "public",
    "claim": "a is inactive.",
    "verdict": "accept",
    "adequacy": {
        "score": 2,
        "rule": "definitive/thin",
        "gate_verdict": "accept",
        "tool_context": {"tool_calls": 1, "tool_types": ["screen"], "has_strong_negative": True},
    },
}
ERROR = {"event": "incident", "timestamp": VERDICT["timestamp"], "compound": "a", "audience": "public"}


def test_the_labs_own_log_is_read_by_drift_patterns_and_incident(tmp_path):
    names = [f"publish_public_a_000_{cycle:03d}_lab7" for cycle in range(1, 7)]
    lines = [VERDICT | {"design_id": name} for name in names]
    lines.append(ERROR | {"severity": "high", "design_id": names[0]})
    log = write(tmp_path / "gate_verdicts.jsonl", lines)
    adequacy("drift", "--scores", log).succeeded("lab7/000", "1 time the mean of 6 was 1.5 or more")
    adequacy("incident", log).succeeded("RPN 504 (9 x 8 x 7)", "logged 1 incident")
    adequacy("patterns", "--scores", log, "--incidents", "incidents.jsonl", "--least", 2).succeeded(
        "6 responses, 1 failed"
    )
    adequacy("incident", log, "--id", "x").refused("--id", "log of the lab")


def test_the_hook_judges_what_stands_on_standard_input(tmp_path):
    session = write(tmp_path / "session.jsonl", SESSION)
    for request in (
        {
            "response": "All tests pass.",
            "query": "Fix the test.",
            "tool_calls": [
                {"name": "Bash", "arguments": {"command": "pytest"}, "result": "1 failed, 2 passed"}
            ],
        },
        {"transcript_path": str(session)},
    ):
        given = json.dumps(request)
        told = json.loads(call("adequacy", "hook", typed=given).succeeded())
        assert (told["verdict"], told["score"]) == ("reject", 3)
        assert told["correction"]
        assert call("adequacy", "hook", "--act", typed=given).code == 1
    call("adequacy", "hook", typed="").refused("standard input: got nothing")
    call("adequacy", "hook", typed="{").refused("allowed: a JSON object")
    call("adequacy", "hook", typed='{"transcript_path": "nowhere"}').refused("nowhere: not read")


def test_the_heuristic_is_compared_with_labels_and_counts(tmp_path):
    adequacy("evaluate", AGENTS, "--out", "e.json").succeeded(
        "number of words", "number of calls", "asks for"
    )
    found = json.loads(Path("e.json").read_text(encoding="utf-8"))
    assert found["gains"]["words"]["low"] > 0
    assert found["gains"]["calls"]["low"] > 0
    assert found["heuristic"]["kappa"]["value"] > 0.66
    # A count is as good as its limits can make it, and no other limits are better on what they are learnt on.
    assert found["baselines"]["words"]["kappa"]["value"] > 0.2
    adequacy("evaluate", AGENTS, "--out", AGENTS).refused("is the labels")


# ------------------------------------------------------------------------------------------------------ score


def test_the_group_and_every_command_have_help_and_an_example():
    shown = adequacy().succeeded()
    for command in COMMANDS:
        assert f" {command} " in shown
        told = adequacy(command, "--help").succeeded()
        assert f"Usage: solvent adequacy {command}" in told
        assert "Example" in told


def test_scores_are_shown_and_appended(file):
    adequacy("score", file).succeeded("judge: none", "EpAd, heuristic", "written: scores.jsonl")
    records = read_scores("scores.jsonl")
    assert [record.id for record in records[:3]] == ["none", "thin", "fits"]
    assert records[3].id == records[3].sha256[:16]
    assert [record.epad.heuristic for record in records[:2]] == [3, 2]
    assert all(record.epad.judge is record.epad.human is None for record in records)
    assert all(record.shadow for record in records)
    assert records[0].tool_context == {"tool_calls": 0, "tool_types": [], "has_strong_negative": True}


def test_the_same_answer_to_other_queries_is_another_response(tmp_path):
    queries = [{"query": "Is it there?"}, {"query": "Is it safe?"}, {}]
    path = write(tmp_path / "yes.jsonl", [{"response": "Yes.", "tool_calls": [], **one} for one in queries])
    adequacy("score", path).succeeded()
    records = read_scores("scores.jsonl")
    assert len({record.id for record in records}) == len({record.sha256 for record in records}) == 3


def test_a_trigger_that_a_person_accepted_asks_for_a_judge(tmp_path, file):
    cases = [Case(("Read", "Grep"), False, True)] * 30 + [Case(("Web",), False, False)] * 30
    pattern = Pattern("whole", ("Read", "Grep"), then_negative=False)
    (found,) = (one for one in extract(cases).findings if pattern in (one.pattern, *one.same_cases))
    accept(tmp_path / "triggers.jsonl", found, "A person", "seen often")
    assert "triggers:" not in adequacy("score", file).succeeded()
    with running(grades(1, 0)) as server:
        shown = adequacy(
            "score", file, "--triggers", "triggers.jsonl", *asking(server), "--judge-escalated"
        ).succeeded()
    assert "triggers: 1 in force; fired on 1 response\n" in shown
    before, after = (
        {record.id: record for record in merged(lines)}
        for lines in (read_scores("scores.jsonl")[:4], read_scores("scores.jsonl"))
    )
    assert not before["fits"].escalate
    assert after["fits"].escalate
    assert after["fits"].signals == (*before["fits"].signals, f"trigger:{pattern}")
    assert before["fits"].epad.heuristic == 0
    assert (after["fits"].epad.heuristic, after["fits"].epad.judge) == (2, 1)
    assert after["thin"].signals == before["thin"].signals
    adequacy("score", file, "--triggers", "nowhere.jsonl").refused("nowhere.jsonl: not read")


def test_a_write_that_was_cut_off_stops_nobody(file):
    adequacy("score", file).succeeded()
    scores = Path("scores.jsonl")
    scores.write_bytes(scores.read_bytes()[:-40])
    adequacy("patterns").succeeded("3 responses")
    for known in (3, 7):
        adequacy("score", file).succeeded()
        assert len(read_scores(scores)) == known + 4


def test_arguments_that_are_nested_too_deeply_are_a_broken_line(tmp_path):
    for depth in (90, 150, 500, 900, 100_000):
        deep = "[" * depth + "]" * depth
        calls = f'[{{"name": "R", "arguments": {{"x": {deep}}}, "result": "r"}}]'
        said = f'{{"id": "deep", "response": "It is gone.", "tool_calls": {calls}}}'
        twice = said.replace("}]", f"}}, {calls[1:]}")
        function = {"name": "R", "arguments": f'{{"x": {deep}}}'}
        chat = [
            {"role": "user", "content": "Is it there?"},
            {"role": "assistant", "tool_calls": [{"id": "0", "type": "function", "function": function}]},
            {"role": "tool", "tool_call_id": "0", "content": "r"},
            {"role": "assistant", "content": "It is gone."},
        ]
        for number, line in enumerate((said, twice, json.dumps({"id": "deep", "messages": chat}))):
            path = write(tmp_path / "deep.jsonl", [LINES[1], line])
            out = ("--out", f"{depth}-{number}.jsonl")
            ended = adequacy("score", path, *out)
            # Text that is no such JSON counts as text where arguments are given as one.
            assert ended.code == (0 if depth == 90 or number == 2 else 2)
            assert ended.code == 0 or ended.refused("line 2: ")
            skipping = adequacy("score", path, "--skip-broken", *out)
            skipping.succeeded()
            assert ("skipped: line 2: " in skipping.err) == (ended.code == 2)


def test_scored_again_the_file_grows_and_says_so(file):
    adequacy("score", file, "-q").succeeded()
    adequacy("score", file, "-q").succeeded("4 had scores before")
    assert len(read_scores("scores.jsonl")) == 8
    assert len(merged(read_scores("scores.jsonl"))) == 4


def test_shadow_does_nothing_and_acting_is_exit_code_1_where_one_is_3(tmp_path):
    bad, good = write(tmp_path / "bad.jsonl", LINES[:1]), write(tmp_path / "good.jsonl", LINES[2:])
    adequacy("score", bad, "--shadow").succeeded()
    ended = adequacy("score", bad, "--act")
    assert ended.code == 1
    assert "acting: 1 of 1 responses score 3" in ended.out
    adequacy("score", good, "--act").succeeded()
    assert [record.shadow for record in read_scores("scores.jsonl")] == [True, False, False, False]


def test_both_chat_formats_are_read_and_only_the_last_turn_counts(tmp_path):
    function = {"name": "Read", "arguments": '{"path": "a.py"}'}
    openai = [
        {"role": "user", "content": "Look at b."},
        {"role": "assistant", "tool_calls": [{"id": "0", "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": "0", "content": "b"},
        {"role": "assistant", "content": "Done."},
        {"role": "user", "content": "Is bar there?"},
        {"role": "assistant", "tool_calls": [{"id": "1", "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": "1", "content": "def foo(): pass"},
        {"role": "assistant", "content": "bar does not exist."},
    ]
    use = {"type": "tool_use", "id": "t1", "name": "Read", "input": {"path": "a.py"}}
    blocks = [
        {"role": "user", "content": "Is bar there?"},
        {"role": "assistant", "content": [{"type": "text", "text": "I look."}, use]},
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "def foo(): pass"}],
        },
        {"role": "assistant", "content": [{"type": "text", "text": "bar does not exist."}]},
    ]
    path = write(
        tmp_path / "chat.jsonl",
        [{"id": "a", "messages": openai}, {"id": "b", "messages": blocks}, {**LINES[1], "id": "c"}],
    )
    adequacy("score", path).succeeded()
    a, b, c = read_scores("scores.jsonl")
    assert a.epad == b.epad == c.epad
    assert a.sha256 == b.sha256 == c.sha256
    assert a.query_type == b.query_type == c.query_type


BROKEN: list[tuple[Any, str]] = [
    ("not JSON", "line 2: "),
    ('{"id": "x"', "line 2: "),
    ("[1]", "allowed: a JSON object"),
    ('{"response": "a", "response": "b", "tool_calls": []}', "given twice"),
    ({"response": "x"}, "tool_calls, messages: got neither"),
    ({"response": "x", "tool_calls": [], "messages": []}, "got both"),
    ({"response": 7, "tool_calls": []}, "response: got 7"),
    ({"response": None, "tool_calls": []}, "response: got None"),
    ({"tool_calls": []}, "response: got None"),
    ({"respnse": "x", "tool_calls": []}, "'respnse'; allowed: response"),
    ({"response": "x", "tool_calls": "Read"}, "tool calls: got 'Read'"),
    ({"response": "x", "tool_calls": [{"arguments": {}}]}, r"tool calls\[0\]"),
    ({"response": "x", "tool_calls": [{"name": "R", "arguments": {}, "result": 7}]}, "result: got 7"),
    ({"response": "x", "messages": "hi"}, "messages: got 'hi'"),
    ({"response": "x", "messages": [7]}, "messages: got"),
    ({"response": "x", "messages": [{"role": "tool", "tool_call_id": "9", "content": "y"}]}, "'9'"),
    ({"response": "x", "query": 7, "tool_calls": []}, "query: got 7"),
    ({"response": "x", "tool_calls": [], "id": 7}, "id: got 7"),
    ({"response": "x", "tool_calls": [], "id": " "}, "id: got"),
    ({"response": "x", "tool_calls": [], "epad": 4}, "epad: got 4"),
    ({"response": "x", "tool_calls": [], "sya": True}, "sya: got True"),
    ({"response": "x", "tool_calls": [], "id": "none"}, "for two responses"),
    (LINES[0], "twice"),
]


@pytest.mark.parametrize(("bad", "said"), BROKEN, ids=range(len(BROKEN)))
def test_a_broken_line_is_reported_with_its_number_and_skipped_only_when_asked(tmp_path, bad, said):
    path = write(tmp_path / "r.jsonl", [LINES[0], bad, LINES[1]])
    assert re.search(said, adequacy("score", path).refused("line 2: "))
    assert not Path("scores.jsonl").exists()
    skipping = adequacy("score", path, "--skip-broken")
    skipping.succeeded()
    assert "skipped: line 2: " in skipping.err
    assert [record.id for record in read_scores("scores.jsonl")] == ["none", "thin"]


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([], "got no response"),
        (["", "  "], "got no response"),
        (["x", "{}"], "line 1: .*line 2: "),
        (["x"] * 9, "and 4 more"),
    ],
    ids=range(4),
)
def test_a_file_without_a_response_is_one_line(tmp_path, lines, said):
    assert re.search(said, adequacy("score", write(tmp_path / "r.jsonl", lines)).refused())


def test_files_that_cannot_be(tmp_path, file):
    before = file.read_bytes()
    other = write(tmp_path / "other.jsonl", [{"a": 1}])
    for arguments, said in (
        (("nowhere.jsonl",), "nowhere.jsonl: not read"),
        ((tmp_path,), "not read"),
        ((file, "--out", file), "is the responses"),
        ((file, "--out", tmp_path), "is a folder"),
        ((file, "--out", other), "allowed"),
        ((file, "--out", file / "x" / "y"), "can't be written"),
    ):
        adequacy("score", *arguments).refused(said)
    assert file.read_bytes() == before
    assert json.loads(other.read_text()) == {"a": 1}


def test_an_id_that_stands_for_another_response_in_the_scores_is_refused(tmp_path, file):
    adequacy("score", file).succeeded()
    other = write(tmp_path / "other.jsonl", [{**LINES[0], "response": "Something else."}])
    adequacy("score", other).refused("has the id 'none' for another response")
    assert len(read_scores("scores.jsonl")) == 4


def test_what_a_response_says_does_not_reach_the_terminal_as_it_is(tmp_path):
    said = "\x1b[2J\x1b]0;title\x07[bold red]It \u202edoes not exist\x00 \ud800."
    path = write(tmp_path / "r.jsonl", [{"id": "\x1b[31mid[/bold]", "response": said, "tool_calls": []}])
    shown = adequacy("score", path).succeeded()
    assert "[bold red]" in shown
    assert "[/bold]" in shown
    for ch in "\x1b\x07\x00\u202e":
        assert ch not in shown


def test_labels_in_the_file_are_a_person_s(tmp_path):
    adequacy("score", DEV, "-q").succeeded()
    records = read_scores("scores.jsonl")
    lines = [json.loads(line) for line in DEV.read_text(encoding="utf-8").splitlines()]
    assert [record.epad.human for record in records] == [line["epad"] for line in lines]


# ------------------------------------------------------------------------------------------------------ judge


def test_the_judge_s_scores_stand_beside(monkeypatch, file):
    monkeypatch.setenv("SOLVENT_JUDGE_KEY", f" {KEY}\n")
    with running(grades(1, 2)) as server:
        adequacy("score", file, *asking(server)).succeeded("judge: 4 of 4 judged; 4 requests")
        assert {request.headers["authorization"] for request in server.requests} == {f"Bearer {KEY}"}
        adequacy("score", file, *asking(server)).succeeded(
            "4 of 4 judged, 4 of them from the cache; 0 requests"
        )
        assert len(server.requests) == 4
    records = read_scores("scores.jsonl")
    # The heuristic's lines, and a line for each judgement.
    assert [record.epad.judge for record in records] == ([None] * 4 + [1] * 4) * 2
    assert [record.epad.heuristic for record in records[4:8]] == [r.epad.heuristic for r in records[:4]]
    assert [record.sya.judge for record in records[4:8]] == [2, 2, 2, None]  # the fourth has no query
    for path in Path().rglob("*"):
        assert not path.is_file() or KEY.encode() not in path.read_bytes()


def test_only_what_should_be_looked_at_is_asked(file):
    with running(grades(1, 0)) as server:
        adequacy("score", file, *asking(server), "--judge-escalated").succeeded()
        records = merged(read_scores("scores.jsonl"))
        assert len(server.requests) == sum(record.escalate for record in records) > 0
    assert [record.epad.judge is not None for record in records] == [record.escalate for record in records]


def test_acting_goes_by_the_judge_where_there_is_one(file):
    with running(grades(0, 0)) as server:
        adequacy("score", file, "--act", *asking(server)).succeeded()
    with running(grades(3, 0)) as server:
        assert adequacy("score", file, "--act", *asking(server, "large")).code == 1


def test_acting_goes_by_a_person_s_score_first(tmp_path):
    for human, code in ((0, 0), (3, 1)):
        path = write(tmp_path / f"{human}.jsonl", [{**LINES[0], "epad": human, "id": f"h{human}"}])
        with running(grades(3 - human, 0)) as server:
            assert adequacy("score", path, "--act", *asking(server), "-q").code == code


def test_a_spent_budget_leaves_the_rest_to_the_heuristic(file):
    with running(grades(1, 0)) as server:
        adequacy("score", file, *asking(server), "--judge-budget", "2", "--judge-jobs", "1").succeeded(
            "judge: 2 of 4 judged; 2 requests", "2 not judged: the budget is spent; allowed: 2 calls"
        )
        assert len(server.requests) == 2
    assert [record.epad.judge for record in merged(read_scores("scores.jsonl"))] == [1, 1, None, None]


def test_an_endpoint_that_refuses_is_asked_no_more_and_is_an_error_after_the_scores(file):
    with running(reply(401, body=b'{"error": "no such key"}')) as server:
        adequacy("score", file, *asking(server), "--judge-jobs", "1", "-q").refused("HTTP 401")
        assert len(server.requests) == 1
    assert [record.epad.judge for record in read_scores("scores.jsonl")] == [None] * 4


def test_an_answer_that_is_refused_costs_only_its_own_response(file):
    with running(text("I say 2."), grades(1, 0)) as server:
        shown = adequacy("score", file, *asking(server), "--judge-jobs", "1").succeeded()
    assert "judge: 3 of 4 judged; 4 requests" in shown
    assert "1 not judged: content: got 'I say 2.'" in shown.replace("judge, ", "")
    assert [record.epad.judge for record in merged(read_scores("scores.jsonl"))] == [None, 1, 1, 1]


def test_an_interrupt_does_not_wait_for_the_judge_and_loses_no_score(file):
    with running(silence) as server, launching() as start:
        process = start("adequacy", "score", file, *asking(server), "--judge-timeout", "600")
        wait_until(lambda: server.requests, process)
        process.send_signal(signal.SIGINT)
        _, shown = process.communicate(timeout=60.0)
    assert process.returncode == 130
    assert shown.splitlines()[-1] == "solvent: stopped"
    assert [record.epad.judge for record in read_scores("scores.jsonl")] == [None] * 4


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--judge-url", "http://127.0.0.1:1"), "--judge-model: got nothing"),
        (("--judge-model", "m"), "--judge-url"),
        (("--judge-escalated",), "--judge-escalated"),
        (("--judge-url", "nowhere", "--judge-model", "m"), "base_url"),
        (("--judge-url", "http://a:b@c", "--judge-model", "m"), "base_url"),
        (("--judge-url", "http://c", "--judge-model", "m", "--judge-options", "[]"), "--judge-options"),
        (("--judge-url", "http://c", "--judge-model", "m", "--judge-options", '{"n": 2}'), "options"),
        (("--judge-url", "http://c", "--judge-model", "m", "--judge-budget", "-1"), "--judge-budget"),
    ],
    ids=range(8),
)
def test_a_judge_that_cannot_be_is_one_line(file, arguments, said):
    adequacy("score", file, *arguments).refused(said)
    assert not Path("scores.jsonl").exists()


# ------------------------------------------------------------------------------------------------------ label


def labelling(*arguments):
    """A person at the keys of ``solvent adequacy label``."""
    return terminal("adequacy", "label", "--by", "Ann", *arguments)


def humans():
    return {record.id: record.epad.human for record in merged(read_scores("scores.jsonl"))}


def test_labels_are_given_by_keys_and_the_heuristic_s_score_is_not_shown(file):
    with labelling(file) as session:
        shown = session.until("EpAd of this response?")
        assert "Is it there?" in shown
        assert "This feature is not available." in shown
        for word in ("heuristic", "definitive/", "absolute/none", "no_tool_call", "strong_negative"):
            assert word not in shown
        session.type("\x1b[3~\x1b[A\x1bOPé3")  # Delete, up, F1: one key each and no label
        session.until("got 'é'")
        shown = session.until("EpAd of this response?")
        assert "Read(path=" in shown
        session.type("x")
        session.until("got 'x'; allowed: 0-3")
        session.type("2")
        session.until("3 of 4")
        session.until("EpAd of this response?")
        session.type("s")
        session.until("EpAd of this response?")
        session.type("q")
        assert session.leave() == 0
        assert "labelled 2, skipped 1, left 2 of 4; written: scores.jsonl" in session.seen
    assert humans() == {"none": 3, "thin": 2}
    record = read_scores("scores.jsonl")[0]
    assert (record.epad.heuristic, record.shadow) == (3, True)
    assert (record.labelled_by, record.reason) == ("Ann", None)


def test_a_second_person_labels_what_the_first_has_labelled(file):
    with labelling(file, "--most", "2") as session:
        session.type("31")
        assert session.leave() == 0
    with terminal("adequacy", "label", "--by", " Bob ", "--reason", "second reading ", file) as session:
        assert "1 of 4" in session.until("EpAd of this response?")
        session.type("22q")
        assert session.leave() == 0
    lines = [(one.id, one.labelled_by, one.epad.human, one.reason) for one in read_scores("scores.jsonl")]
    assert lines == [
        ("none", "Ann", 3, None),
        ("thin", "Ann", 1, None),
        ("none", "Bob", 2, "second reading"),
        ("thin", "Bob", 2, "second reading"),
    ]
    assert humans() == {"none": 3, "thin": 1}
    shown = adequacy("thresholds", file)
    assert re.search(r"Ann, Bob +2 ", shown.out)
    shown.refused("got 2 labelled responses")


def test_an_interrupt_keeps_the_labels_and_the_next_session_goes_on_and_back(file):
    with labelling(file) as session:
        session.until("EpAd of this response?")
        session.type("2")
        session.until("2 of 4")
        session.until("EpAd of this response?")
        session.type("\x03")
        assert session.leave() == 130
    assert humans() == {"none": 2}
    with labelling(file) as session:
        assert "1 of 3" in session.until("EpAd of this response?")
        assert "1 of 4 have a label already" in session.seen
        session.type("u")
        session.until("Nothing to undo")
        session.type("12u")
        session.until("Back to the label before")
        session.type("u30q")
        assert session.leave() == 0
        assert "labelled 2, skipped 0, left 1 of 4" in session.seen
    assert humans() == {"none": 2, "thin": 3, "fits": 0}
    assert len(read_scores("scores.jsonl")) == 5  # nothing is taken out of the file


def test_both_scales_and_what_is_shown_does_not_steer_the_terminal(tmp_path):
    said = "\x1b[2J\x1b]0;title\x07[bold]A\u202e\nsecond line"
    call_ = {"name": "Read", "arguments": {"path": "\x1b[31m"}, "result": "\x9b31m"}
    hostile = {"id": "hostile", "response": said, "query": "\x1b[5mq", "tool_calls": [call_]}
    with labelling(write(tmp_path / "r.jsonl", [hostile, *LINES]), "--sya") as session:
        shown = session.until("EpAd of this response?")
        session.type("3")
        session.until("SyA: the user's premise?")
        session.type("u")
        session.until("EpAd of this response?")
        session.type("21" + "s" + "0s" + "q")
        assert session.leave() == 0
    (record,) = read_scores("scores.jsonl")
    assert (record.id, record.epad.human, record.sya.human) == ("hostile", 2, 1)
    assert "[bold]A" in shown
    assert re.search(r"^\W*second line", shown, re.MULTILINE)
    for code in ("\x1b[2J", "\x1b]0", "\x1b[31m", "\x1b[5m", "\x9b", "\x07", "\u202e"):
        assert code not in session.raw.decode()


def test_a_label_leaves_the_heuristic_s_score_as_it_was_logged(file):
    adequacy("score", file, "-q").succeeded()
    scores = Path("scores.jsonl")
    first, *rest = map(json.loads, scores.read_text().splitlines())
    write(scores, [{**first, "signals": ["trigger:no call"], "escalate": True}, *rest])
    with labelling(file, "--seed", "3", "--most", "3") as session:
        session.until("1 of 3")
        session.type("222")
        assert session.leave() == 0
        assert "labelled 3, skipped 0, left 1 of 4" in session.seen
    record = merged(read_scores(scores))[0]
    assert (record.signals, record.epad.human) == (("trigger:no call",), 2)
    assert record.epad.heuristic == first["epad"]["heuristic"]


def test_without_a_terminal_it_is_one_line(file):
    ended = call("adequacy", "label", file, "--by", "Ann", typed="3")
    ended.refused("stdin: not a terminal; allowed: a terminal")
    call("adequacy", "label", file).refused("--by")
    for option, said, most in (
        *(("--by", " ", "1,000"), ("--by", "x" * 1001, "1,000")),
        *(("--reason", "", "2,000"), ("--reason", "x" * 2001, "2,000")),
    ):  # before the first key
        ended = call("adequacy", "label", file, "--by", "Ann", option, said)
        ended.refused(f"{option}: got ", f"allowed: a text of 1 to {most} characters")
    assert not Path("scores.jsonl").exists()
