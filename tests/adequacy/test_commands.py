"""``solvent adequacy``, command by command, as a person runs them; the judge is a scripted server on the loopback."""

import json
from pathlib import Path

import pytest

from solvent.adequacy.records import Given, ScoreRecord
from solvent.files import read_records
from tests.adequacy.scripted import grades, reply, serving
from tests.commands import call

READ = {"name": "Read", "arguments": {"path": "src/client.py"}, "result": "def send(request): ..."}
FAILED = {"name": "Bash", "arguments": {"command": "pytest"}, "result": "1 failed, 3 passed"}
BASH = {"name": "Bash", "arguments": {"command": "clean"}, "result": "old files removed"}
ASKED = {"query": "Does it retry?", "tool_calls": [READ]}
LABELLED = {"response": "It may retry.", "tool_calls": []}
RESPONSES = [
    ASKED | {"id": "s:1", "response": "Retries do not exist in this codebase."},
    ASKED | {"id": "s:2", "response": "I saw no retry in src/client.py."},
    {"id": "s:3", "query": "Do the tests pass?", "response": "All tests pass.", "tool_calls": [FAILED]},
]


def adequacy(*arguments, typed=""):
    return call("adequacy", *arguments, typed=typed)


def written(lines, path):
    Path(path).write_text("".join(json.dumps(line) + "\n" for line in lines))


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOLVENT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("random.uniform", lambda *_: 0.0)
    written(RESPONSES, "r.jsonl")


def scores():
    return list(read_records("scores.jsonl", ScoreRecord))


def test_score_logs_what_it_shows():
    out = adequacy("score", "r.jsonl").succeeded("definitive/contradicted", "definitive/thin")
    assert out.splitlines()[-1].startswith("Next: ")
    assert {one.session for one in scores()} == {"s"}
    assert [(one.id, one.epad.heuristic) for one in scores()] == [("s:1", 2), ("s:2", 0), ("s:3", 3)]


def test_score_as_json_prints_one_object_per_turn(tmp_path):
    lines = adequacy("score", "r.jsonl", "--json").succeeded().splitlines()
    turns = [json.loads(line) for line in lines]
    assert [turn["score"] for turn in turns] == [2, 0, 3]
    assert turns[0]["calls"] == [{"name": "Read", "result": "def send(request): ..."}]
    assert not (tmp_path / "scores.jsonl").exists()


def test_a_turn_with_calls_that_were_not_understood_is_unread():
    odd = {"type": "strange_tool_call", "payload": {"x": 1}}
    message = (("user", "Do the tests pass?"), ("assistant", [odd]), ("assistant", "All tests pass."))
    written([{"role": role, "content": content} for role, content in message], "t.jsonl")
    ended = adequacy("score", "t.jsonl", "--json")
    (turn,) = map(json.loads, ended.succeeded().splitlines())
    assert (turn["score"], turn["rule"], turn["escalate"], turn["unread"]) == (None, "unread", True, 1)
    assert "not read" in ended.err


def test_a_response_is_judged_once_unless_asked_afresh():
    adequacy("score", "r.jsonl").succeeded()
    with serving(grades(3)) as server:
        ask = ("judge", "r.jsonl", "--url", server.url, "--model", "small")
        adequacy(*ask).succeeded("3 requests")
        adequacy(*ask).succeeded("0 requests")
        adequacy(*ask, "--fresh", "--escalated").succeeded("2 requests")


def test_a_judgement_leaves_the_heuristics_score_as_it_was():
    limits = {"cuts": [1, 9], "labels": 50, "time": "2026-11-02T12:00:00Z"}
    Path("limits.json").write_text(json.dumps(limits))
    trigger = {"pattern": "only Bash", "by": "J. Doe", "reason": "seen", "time": "2026-11-02T12:00:00Z"}
    written([trigger], "triggers.jsonl")
    removal = {"id": "s:4", "query": "Clean up.", "response": "It removes old files.", "tool_calls": [BASH]}
    written([*RESPONSES, {"id": "s:5", "response": "Hello!", "tool_calls": []}, removal], "r.jsonl")
    adequacy("score", "r.jsonl", "--limits", "limits.json").succeeded()
    before = [(one.id, one.epad.heuristic, one.rule) for one in scores()]
    with serving(grades(3)) as server:
        ask = ("judge", "r.jsonl", "--url", server.url, "--model", "small", "--limits", "limits.json")
        adequacy(*ask).succeeded("5 requests")
    after = [(one.id, one.epad.heuristic, one.rule) for one in scores()[len(before) :]]
    assert after == before
    assert [row[1] for row in before] == [1, 0, 3, None, 2]


def test_judge_heuristic_and_people_are_compared():
    with serving(grades(3)) as server:
        adequacy("judge", "r.jsonl", "--url", server.url, "--model", "small").succeeded()
    for name, epad in (("s:2", 0), ("s:1", 3)):
        adequacy("label", "--id", name, "--epad", epad, "--by", "J. Doe").succeeded()
    out = adequacy("agree").succeeded("calls alone: 3, 2, 0")
    rows = dict(line.split()[:2] for line in out.splitlines() if len(line.split()) > 2)
    assert (rows["heuristic"], rows["judge"]) == ("2", "2")


def test_one_refused_answer_costs_one_response_and_a_refusing_endpoint_all():
    with serving(grades(7), grades(1), grades(2), reply({"error": "no such key"}, 401)) as server:
        ended = adequacy("judge", "r.jsonl", "--url", server.url, "--model", "m")
        adequacy("judge", "r.jsonl", "--url", server.url, "--model", "m", "--fresh").refused("401")
    ended.succeeded("3 requests")
    assert len(server.requests) == 4
    assert "s:1" in ended.err
    assert [one.epad.judge for one in scores()] == [1, 2]


def report(name):
    """Report a response as one that was wrong."""
    ranks = ("--severity", 5, "--occurrence", 4, "--detectability", 7)
    about = ("--description", "The client does retry", "--by", "J. Doe")
    return adequacy("incident", "r.jsonl", "--id", name, *ranks, *about)


def test_an_incident_has_a_risk_priority_and_a_label():
    report("s:1").succeeded("RPN 140", "EpAd 2")


def test_an_incident_is_of_a_response_in_the_file():
    report("none").refused("--id")


def test_an_incident_refines_the_correction_for_drift():
    written([RESPONSES[0] | {"id": f"s:{i}"} for i in range(6)], "many.jsonl")
    adequacy("score", "many.jsonl").succeeded()
    report("s:1").succeeded()
    assert "The client does retry" in " ".join(adequacy("drift").succeeded().split())


def test_nobody_neither_labels_nor_reports():
    adequacy("score", "r.jsonl").succeeded()
    before = scores()
    ranks = ("--severity", 5, "--occurrence", 4, "--detectability", 7, "--description", "It does.")
    for command in (("label", "--epad", 3), ("incident", "r.jsonl", *ranks)):
        adequacy(*command, "--id", "s:1", "--by", " ").refused("--by: got ' '; allowed")
    assert scores() == before


def test_an_incident_without_a_description_is_one_line():
    ranks = ("--severity", 5, "--occurrence", 4, "--detectability", 7, "--by", "J. Doe")
    adequacy("incident", "r.jsonl", "--id", "s:1", *ranks, "--description", "").refused("description: got ''")


def test_an_accepted_pattern_becomes_a_trigger():
    failures = [RESPONSES[1] | {"id": f"s:{i}", "response": f"Retry number {i} is off."} for i in range(30)]
    others = [RESPONSES[1] | {"id": f"t:{i}", "tool_calls": [READ, FAILED]} for i in range(60)]
    written(failures + others, "r.jsonl")
    adequacy("score", "r.jsonl").succeeded()
    for i in range(28):
        adequacy("label", "--id", f"s:{i}", "--epad", 3, "--by", "J. Doe").succeeded()
    accept = ("patterns", "--by", "J. Doe", "--reason", "seen often", "--accept")
    adequacy(*accept, "only Read").succeeded("93%", "yes")
    turns = map(json.loads, adequacy("score", "r.jsonl", "--json").succeeded().splitlines())
    assert {turn["score"] for turn in turns if turn["id"] in ("s:0", "s:29")} == {2}
    adequacy(*accept, "no such").refused("only Read")


PAYLOAD = {"response": "All tests pass.", "tool_calls": [FAILED]}


def test_the_hook_logs_that_it_acts():
    adequacy("hook", "--act", typed=json.dumps(PAYLOAD)).succeeded()
    assert [one.shadow for one in scores()] == [False]


def test_an_error_of_the_hook_holds_nobody_up():
    ended = adequacy("hook", "--act", typed='{"transcript_path": "none.jsonl", "hook_event_name": "Stop"}')
    assert (ended.code, ended.err.count("\n"), ended.out) == (1, 1, "")


def test_without_a_log_the_verdict_is_printed_and_nothing_is_stopped():
    Path("scores.jsonl").mkdir()
    ended = adequacy("hook", "--act", typed=json.dumps(PAYLOAD))
    assert json.loads(ended.succeeded()) == {"verdict": "reject"}
    assert "not logged" in ended.err


def test_a_score_that_can_not_be_written_holds_nobody_up(monkeypatch):
    def refuse(*_):
        raise ValueError("no such text")

    monkeypatch.setattr("solvent_experiments.instruments.adequacy.append_records", refuse)
    ended = adequacy("hook", "--act", typed=json.dumps(PAYLOAD))
    assert json.loads(ended.succeeded()) == {"verdict": "reject"}
    assert "not logged" in ended.err


def test_half_a_surrogate_pair_in_a_payload_is_logged_as_the_readers_have_it():
    payload = PAYLOAD | {"session_id": "s\ud800", "response": "All tests pass \ud83d."}
    adequacy("hook", "--act", typed=json.dumps(payload)).succeeded()
    assert [one.session for one in scores()] == ["s?"]


def test_the_settings_entry_of_a_client_is_printed_and_not_written(tmp_path):
    ended = adequacy("hook", "--install", "gemini")
    assert set(json.loads(ended.out)["hooks"]) == {"AfterAgent", "BeforeAgent"}
    assert not list(tmp_path.glob(".gemini*"))
    adequacy("hook", "--install", "vim").refused("--install")


OVERCLAIM = {"response": "Retries do not exist.", "tool_calls": []}


def given():
    return list(read_records("given.jsonl", Given)) if Path("given.jsonl").exists() else []


def test_a_correction_goes_with_the_next_turn_and_only_then_is_logged_as_given():
    stopped = {"hook_event_name": "Stop", "session_id": "s", "transcript_path": "t.jsonl"}
    messages = [
        {"role": "user", "content": "Does it retry?"},
        {"role": "assistant", "content": "Retries do not exist."},
    ]
    written(messages, "t.jsonl")
    adequacy("hook", "--act", typed=json.dumps(stopped)).succeeded()
    assert not given()
    prompt = json.dumps({"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": "Go on."})
    adequacy("hook", "--act", typed=prompt).succeeded("additionalContext")
    assert [one.sha256 for one in given()] == [scores()[0].sha256]
    assert not adequacy("hook", "--act", typed=prompt).succeeded()


def test_limits_learnt_from_labels_are_adopted_by_score():
    limits = {"cuts": [1, 4], "rater": "heuristic", "labels": 60, "time": "2026-11-29T00:00:00Z"}
    Path("limits.json").write_text(json.dumps(limits))
    adopted = adequacy("score", "r.jsonl", "--json", "--limits", "limits.json").succeeded()
    assert json.loads(adopted.splitlines()[0])["rule"] == "definitive/reasonable"


@pytest.mark.parametrize(
    "content", ["{", '{"cuts": [4, 2], "labels": 60, "time": "2026-11-29T00:00:00Z"}', "[]"]
)
def test_a_file_of_other_limits_is_refused_in_one_line(content):
    Path("limits.json").write_text(content)
    adequacy("score", "r.jsonl", "--limits", "limits.json").refused("limits.json")


def test_thresholds_measure_a_judge_and_write_what_the_labels_favour():
    labels = [LABELLED | {"query": f"q{i}", "epad": i % 2 * 3} for i in range(60)]
    written(labels, "labels.jsonl")
    with serving(*(grades(i % 2 * 3) for i in range(60))) as server:
        ask = (
            "thresholds",
            "labels.jsonl",
            "--judge",
            server.url,
            "--model",
            "small",
            "--out",
            "limits.json",
        )
        adequacy(*ask).succeeded("judge minus heuristic, 60 answers")
    assert json.loads(Path("limits.json").read_text())["rater"] == "judge"


@pytest.mark.parametrize("arguments", [("score", "missing.jsonl"), ("drift",), ("patterns",), ("agree",)])
def test_a_missing_file_is_named(arguments):
    adequacy(*arguments).refused(arguments[1] if len(arguments) > 1 else "scores.jsonl")


def test_patterns_count_the_failures_that_people_report():
    written([RESPONSES[0] | {"id": f"s:{i}"} for i in range(20)], "many.jsonl")
    adequacy("score", "many.jsonl").succeeded()
    ranks = ("--severity", 5, "--occurrence", 4, "--detectability", 7)
    adequacy(
        "incident", "many.jsonl", "--id", "s:1", *ranks, "--description", "x", "--by", "J. Doe"
    ).succeeded()
    rows = [line.split() for line in adequacy("patterns").succeeded().splitlines()]
    assert ["only", "Read", "20", "1"] in [row[:4] for row in rows]
