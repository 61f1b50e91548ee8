"""The hook: the answer in a client's payload, judged with the calls of the turn under way."""

import json
from pathlib import Path

import pytest

from solvent.adequacy.formats import read_turns
from solvent.adequacy.hook import CLIENTS, MARK, Log, judge_payload, settings_for
from solvent.adequacy.records import Ratings, ScoreRecord, record_of
from tests.labs import lines

CASES = Path(__file__).parent / "cases"
HOOKS = lines(CASES / "hooks.jsonl")


def judged(payload, log=None, *, act=True):
    text = payload if isinstance(payload, str) else json.dumps(payload)
    return judge_payload(text.replace("{CASES}", str(CASES)), act=act, log=log)


def stop(path="stale.jsonl", **fields):
    answer = {"last_assistant_message": "All tests pass."} if path == "stale.jsonl" else {}
    return {"hook_event_name": "Stop", "transcript_path": f"{{CASES}}/hook/{path}"} | answer | fields


def prompt(**fields):
    return {"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": "Go on."} | fields


def logged(decision, **fields) -> ScoreRecord:
    """The line that the hook's command logs."""
    return record_of(decision.turn, decision.adequacy, **({"session": "s"} | fields))


def knows(record, **fields):
    return Log(last={record.session: record}.get, **fields)


def blocks(decision):
    return bool({"decision", "followup_message"} & json.loads(decision.output or "{}").keys())


@pytest.mark.parametrize("case", HOOKS, ids=lambda case: Path(case["payload"]).stem)
def test_case_is_judged(case):
    payload = (CASES / case["payload"]).read_text(encoding="utf-8")
    if case["exit_code"]:
        with pytest.raises(ValueError, match=case["says"]):
            judged(payload)
        return
    decision = judged(payload)
    assert (decision.verdict, blocks(decision)) == (case["verdict"], case["blocks"])
    if case["verdict"] is None:
        assert case["says"] in decision.message
        assert not decision.output
    else:
        assert (decision.turn.response, len(decision.turn.calls)) == (case["response"], case["calls"])


@pytest.mark.parametrize(
    ("fields", "keys"),
    [
        ({}, {"decision", "reason"}),
        ({"turn_id": "t"}, {"decision", "reason"}),
        ({"hook_event_name": "AfterAgent"}, {"decision", "reason"}),
        ({"hook_event_name": "stop"}, {"followup_message"}),
    ],
    ids=["Claude Code", "Codex", "Gemini CLI", "Cursor"],
)
def test_block_has_the_clients_form(fields, keys):
    output = json.loads(judged(stop(**fields)).output)
    codex = "turn_id" in fields  # which refuses other keys
    assert output.keys() == keys | (set() if codex else {"verdict", "score", "rule", "response"})
    gemini = fields.get("hook_event_name") == "AfterAgent"
    assert output.get("decision", "block") == ("deny" if gemini else "block")


def test_the_reason_names_the_contradiction_and_the_sentence():
    reason = json.loads(judged(stop()).output)["reason"]
    assert reason.startswith(MARK)
    assert "something failed and the answer does not say so: 'All tests pass.'" in reason


@pytest.mark.parametrize(
    "fields",
    [
        {"stop_hook_active": True},
        {"hook_event_name": "stop", "loop_count": 1},
        {"hook_event_name": "afterAgentResponse"},
    ],
    ids=["corrected", "corrected in Cursor", "observed"],
)
def test_answer_is_judged_but_not_held(fields):
    decision = judged(stop(**fields))
    assert (decision.verdict, blocks(decision)) == ("reject", False)


def test_an_answer_with_half_a_surrogate_pair_is_that_of_the_transcript(tmp_path):
    words = "All tests pass \ud83d."
    messages = [{"role": "user", "content": "Do they?"}, {"role": "assistant", "content": words}]
    path = tmp_path / "t.jsonl"
    path.write_text("".join(json.dumps(message) + "\n" for message in messages))
    decision = judged(stop(last_assistant_message=words) | {"transcript_path": str(path)})
    assert decision.turn.response == "All tests pass ?."


GEMINI = {"hook_event_name": "AfterAgent", "stop_hook_active": False, "session_id": "s"}


def test_an_answer_is_stopped_once_where_the_client_does_not_say_so():
    first = judged(stop(**GEMINI))
    again = judged(stop(**GEMINI), knows(logged(first, stopped=first.stopped)))
    assert (first.stopped, again.verdict, again.stopped) == (True, "reject", False)


def test_an_overclaim_without_a_mark_is_not_stopped():
    decision = judged({"response": "Retries do not exist.", "tool_calls": []})
    assert (decision.verdict, decision.stopped) == ("reject", False)


def test_unknown_keys_do_not_open_the_hook():
    assert blocks(judged(stop(output_format="json", callback_url="http://x", tool_results_v2=[1])))
    failed = {"name": "Bash", "result": "1 failed", "arguments": {"command": "pytest"}}
    line = {"response": "All tests pass.", "tool_calls": [failed], "output_format": "json"}
    assert blocks(judged(line | {"callback_url": "http://x"}))


# -- the next turn


@pytest.fixture
def overclaim():
    """The logged score of an overclaim that no mark contradicts."""
    return logged(judged({"response": "Retries do not exist.", "tool_calls": []}))


@pytest.mark.parametrize("event", ["UserPromptSubmit", "BeforeAgent"])
def test_a_correction_is_given_once(overclaim, event):
    log = knows(overclaim, given=frozenset({overclaim.sha256}))
    decision = judged(prompt(hook_event_name=event), log)
    assert (decision.given, decision.output, decision.message) == (None, "", "")


def test_an_adequate_or_a_stopped_answer_is_not_corrected_again(overclaim):
    adequate = overclaim.model_copy(update={"epad": Ratings(heuristic=1)})
    for record in (adequate, overclaim.model_copy(update={"stopped": True})):
        assert judged(prompt(), knows(record)).given is None


def test_another_session_is_not_corrected(overclaim):
    assert judged(prompt(session_id="other"), knows(overclaim)).given is None


def test_in_shadow_mode_no_correction_is_given(overclaim):
    assert judged(prompt(), knows(overclaim), act=False).given is None


def test_limits_of_evidence_are_the_adopted_ones():
    reads = [{"name": "Read", "arguments": {"path": f"{name}.py"}, "result": "code"} for name in "ab"]
    line = {"response": "It does not exist.", "tool_calls": reads}
    scores = [judge_payload(json.dumps(line), cuts=cuts).adequacy.score for cuts in ((2, 4), (3, 4))]
    assert scores == [1, 2]


@pytest.mark.parametrize("act", [False, True])
@pytest.mark.parametrize("client", CLIENTS)
def test_a_clients_settings_name_its_events_and_the_command(client, act):
    path, entry = settings_for(client, act=act)
    assert path.endswith(".json")
    events = json.loads(entry)["hooks"]
    assert set(events) == set(CLIENTS[client].events)
    command = "solvent adequacy hook --act" if act else "solvent adequacy hook"
    assert all(f'"{command}"' in json.dumps(hooks) for hooks in events.values())


def test_correction_is_not_the_users_words(tmp_path):
    path = tmp_path / "s.jsonl"
    texts = ("Green?", "Yes.", f"{MARK} Look again.", "I don't know.")
    words = zip(("user", "assistant") * 2, texts, strict=True)
    path.write_text("\n".join(json.dumps({"role": role, "content": text}) for role, text in words))
    (turn,) = read_turns(path).turns
    assert (turn.query, turn.response) == ("Green?", "I don't know.")


def test_unread_turn_has_no_verdict(tmp_path):
    path = tmp_path / "s.jsonl"
    unknown = [{"type": "tool_invocation_v9"}, {"type": "text", "text": "It never retries."}]
    path.write_text(json.dumps({"role": "assistant", "content": unknown}), encoding="utf-8")
    decision = judged({"hook_event_name": "Stop", "transcript_path": str(path)})
    assert (decision.verdict, decision.output) == (None, "")
    assert "not read" in decision.message


@pytest.mark.parametrize("payload", ["{", "[]"])
def test_bad_payload_is_refused(payload):
    with pytest.raises(ValueError, match=r"JSON|Expecting"):
        judged(payload)


@pytest.mark.parametrize(
    ("payload", "says"),
    [
        ({"response": 3}, "names no transcript"),
        (stop("loop_ok.jsonl", last_assistant_message="It is done now."), "not this turn yet"),
    ],
)
def test_nothing_else_is_judged_instead(payload, says):
    decision = judged(payload)
    assert (decision.verdict, decision.turn, decision.output) == (None, None, "")
    assert says in decision.message
