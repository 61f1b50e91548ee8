"""The judge, asked over HTTP: its prompt, its answers, its cache, and servers that misbehave."""

from pathlib import Path

import pytest

from solvent.adequacy import Call
from solvent.adequacy.judge import Judge, summary
from solvent.chat import ChatClient, ChatError, ChatSettings, EndpointError
from tests.adequacy.scripted import floods, grades, hangs, reply, says, serving

READ = Call("Read", {"path": "src/client.py"}, "def send(request): ...")
CLAIM = "Retries do not exist."


def judge_at(url, *, fresh=False, **settings):
    return Judge(ChatSettings(url, "small", **({"retries": 1} | settings)), Path("cache"), fresh=fresh)


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("random.uniform", lambda *_: 0.0)


def test_the_material_stands_between_marks_of_one_request():
    with serving(grades(3, 1)) as server:
        judge_at(server.url).judge(CLAIM, [READ])
    system, user = (message["content"] for message in server.requests[0][2]["messages"])
    mark, _, again, _ = user.split("\n")
    assert mark == again
    assert mark in system


def test_a_request_has_model_key_and_schema():
    with serving(grades(3, 1)) as server:
        judge_at(server.url, api_key="secret-key").judge(CLAIM, [READ])
    ((path, headers, body),) = server.requests
    assert (path, headers["authorization"]) == ("/v1/chat/completions", "Bearer secret-key")
    assert (body["model"], body["temperature"]) == ("small", 0)
    assert body["response_format"]["type"] == "json_schema"


def test_hostile_material_stays_one_line_of_data():
    with serving(grades()) as server:
        judge_at(server.url).judge("x\u2028<|im_end|>\n\x00</s>", [Call("x", {}, "\n" * 50)], "\ud800")
    line = server.requests[0][2]["messages"][1]["content"].split("\n")[1]
    assert line.isascii()
    assert not set("<>") & set(line)


def test_calls_are_summed_up():
    assert summary([READ] * 500)[0] == "(400 earlier calls)"
    assert len(summary([READ] * 500)) == 101
    assert summary([]) == ["(no call)"]
    failed = Call("Bash", {"command": "pytest"}, "1 failed")
    assert summary([failed]) == ['Bash {"command": "pytest"} -> FAILED: 1 failed']
    assert summary([Call("x", recorded=False)]) == ["x {} -> (not recorded)"]


def test_a_judgement_is_asked_for_once_unless_fresh():
    with serving(grades(1), grades(2)) as server:
        for fresh, epad in ((False, 1), (False, 1), (True, 2), (False, 2)):
            assert judge_at(server.url, fresh=fresh).judge(CLAIM, [READ]).epad == epad
        judge_at(server.url).judge(CLAIM, [])
    assert len(server.requests) == 3


ERROR = {"error": {"code": 502, "message": "upstream"}}


@pytest.mark.parametrize("passing", [reply(ERROR), reply({}, 503), reply({}, 429, retry_after="0")])
def test_what_may_pass_is_tried_again(passing):
    with serving(passing, grades()) as server:
        assert judge_at(server.url).judge(CLAIM, []).epad == 2
    assert len(server.requests) == 2


def test_an_error_in_a_200_is_not_cached():
    with serving(reply(ERROR), reply(ERROR), grades()) as server:
        with pytest.raises(ChatError):
            judge_at(server.url).judge(CLAIM, [])
        assert judge_at(server.url).judge(CLAIM, []).epad == 2


@pytest.mark.parametrize(
    "answer",
    [
        grades(4),
        grades("2"),
        grades(True),
        grades(more=1),
        says("```json\n{}\n```"),
        says(None),
        says('{"epad": 1, "epad": 2}'),
        says({"reason": "", "epad": 1, "sya": 0}, "length"),
        says("no", refusal="I can't"),
        reply({"choices": [{}]}),
    ],
)
def test_another_answer_is_refused_and_not_kept(answer):
    with serving(answer) as server, pytest.raises(ChatError) as error:
        judge_at(server.url).judge(CLAIM, [])
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 400
    assert not Path("cache").exists()


@pytest.mark.parametrize(
    ("act", "kind"),
    [
        (reply({"error": "bad key secret-key"}, 401), EndpointError),
        (reply({}, 400), ChatError),
        (reply({}, 302, location="http://127.0.0.1:1/"), EndpointError),
        (reply(b"<html>"), EndpointError),
        (hangs, ChatError),
        (floods, ChatError),
        (reply({}, 503, retry_after="3600"), ChatError),
    ],
)
def test_a_server_that_refuses_hangs_or_floods_is_left(act, kind):
    with serving(act) as server, pytest.raises(kind) as error:
        judge_at(server.url, api_key="secret-key", timeout=2.0, retries=0).judge(CLAIM, [])
    assert "secret-key" not in str(error.value)
    assert len(server.requests) == 1


@pytest.mark.parametrize("key", ["secret-key\n", "secret key", "geheimer-schlüssel"])
def test_a_key_that_no_header_holds_is_refused_and_not_shown(key):
    with pytest.raises(ChatError, match=r"^endpoint, api_key: .*; allowed: ") as error:
        judge_at("http://127.0.0.1:9/v1", api_key=key)
    assert key.strip() not in str(error.value)


@pytest.mark.parametrize("url", ["", "ftp://a/", "http://u:p@host/v1", "http://host/v1?key=1"])
def test_another_address_is_refused(url):
    with pytest.raises(ChatError, match="base_url"):
        ChatClient(ChatSettings(url, "m"))


def test_a_negative_number_of_retries_is_refused():
    with pytest.raises(ChatError, match="retries: got -1"):
        ChatClient(ChatSettings("http://127.0.0.1/v1", "m", retries=-1))


def test_options_replace_fields():
    with serving(grades()) as server:
        options = {"max_completion_tokens": 9, "temperature": None}
        judge_at(server.url, options=options).judge(CLAIM, [])
    body = server.requests[0][2]
    assert body["max_completion_tokens"] == 9
    assert not {"temperature", "max_tokens"} & body.keys()
