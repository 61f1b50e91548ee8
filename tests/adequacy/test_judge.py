"""The judge against a real server on the loopback that misbehaves on purpose."""

from __future__ import annotations

import asyncio
import contextlib
import email.utils
import gzip
import itertools
import json
import logging
import shutil
import socket
import ssl
import subprocess
import threading
import time

import pytest

from solvent.adequacy.judge import (
    LONGEST_ANSWER,
    Budget,
    BudgetError,
    ChatError,
    ChatSettings,
    EndpointError,
    Judge,
)
from solvent.adequacy.judge_prompt import SCHEMA
from solvent.adequacy.tools import ToolCall, ToolContext
from solvent.extras import install
from tests.adequacy.judge_server import (
    completion,
    drip_body,
    drip_head,
    endless_body,
    grades,
    judge_at,
    reply,
    reset,
    running,
    silence,
    text,
)
from tests.commands import execute_python

RESPONSE, QUERY = "The function frobnicate does not exist in this codebase.", "Is there a frobnicate?"
CONTEXT = ToolContext((ToolCall("Read", {"path": "a.py"}, "def foo(): pass"),))
KEY = "sk-real-0123456789abcdef"
SOON = 15.0  # seconds: far more than any of these needs on a slow machine, far less than without a limit


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def judge_of(server, **settings):
    return judge_at(**{"url": server.url, "backoff": 0.01, "timeout": 5.0, **settings})


def asked(judge, response=RESPONSE):
    return judge.judge(response, CONTEXT, QUERY)


def refused(*script, match, tries=None, **arguments):
    """The error of a judge whose endpoint acts so, after so many requests and within the time."""
    begun = time.monotonic()
    with running(*script) as server:
        with pytest.raises(ChatError, match=match) as caught:
            asked(judge_of(server, **arguments))
        count = len(server.requests)
    assert time.monotonic() - begun < SOON
    assert tries is None or count == tries
    (line,) = str(caught.value).splitlines()
    assert line.startswith(("endpoint", "judge"))
    return caught.value


def test_a_server_that_fails_for_this_response_may_answer_to_another():
    for act in (reply(500), reset, text("no JSON"), endless_body):
        error = refused(act, match="endpoint|judge", retries=0)
        assert not isinstance(error, BudgetError | EndpointError)


# ---------------------------------------------------------------------------------------------- what goes well


def test_a_judgement_is_what_the_endpoint_says():
    with running(grades(2, 1, "One narrow look.")) as server:
        found = asked(judge_of(server))
    assert (found.epad, found.sya, found.reason) == (2, 1, "One narrow look.")
    assert (found.model, found.tokens, found.cached) == ("small", 50, False)
    assert len(found.key) == 64
    assert set(found.to_dict()) == {"epad", "sya", "reason", "model", "prompt", "key", "tokens", "cached"}


def test_the_request_is_a_chat_completion_with_a_strict_schema():
    with running() as server:
        asked(judge_of(server, api_key=KEY))
    (request,) = server.requests
    assert request.path == "/v1/chat/completions"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.headers["content-type"] == "application/json"
    assert request.json["model"] == "small"
    assert request.json["temperature"] == 0
    form = request.json["response_format"]
    assert (form["type"], form["json_schema"]["strict"]) == ("json_schema", True)
    assert form["json_schema"]["schema"] == dict(SCHEMA)
    assert [message["role"] for message in request.json["messages"]] == ["system", "user"]
    assert "frobnicate" in request.user
    assert "a.py" in request.user
    assert QUERY in request.user


def test_without_a_key_no_authorization_is_sent():
    with running() as server:
        asked(judge_of(server, api_key=""))
    assert "authorization" not in server.requests[0].headers


def test_a_trailing_slash_of_the_address_changes_nothing():
    with running() as server:
        asked(judge_at(f"{server.url}/"))
    assert server.requests[0].path == "/v1/chat/completions"


@pytest.mark.parametrize("score", [0, 1, 2, 3])
def test_every_score_of_the_scale_is_taken(score):
    with running(grades(score, 3 - score)) as server:
        found = asked(judge_of(server))
    assert (found.epad, found.sya) == (score, 3 - score)


def test_options_replace_the_defaults():
    with running() as server:
        asked(judge_of(server, options={"max_completion_tokens": 400, "temperature": None, "seed": 7}))
    sent = server.requests[0].json
    assert (sent["max_completion_tokens"], sent["seed"]) == (400, 7)
    assert not {"max_tokens", "temperature"} & set(sent)


def test_it_may_be_called_where_an_event_loop_runs():
    with running() as server:
        judge = judge_of(server)

        async def within():
            return asked(judge)

        assert asyncio.run(within()).epad == 2


# --------------------------------------------------------------------------------------------- what can pass


PASSING = {
    **{f"HTTP {status}": reply(status) for status in (408, 429, 500, 502, 503, 529)},
    "a reset": reset,
    "a timeout": silence,
    "a body that ends too soon": reply(headers={"content-length": "5000"}, body=completion("{}")),
}


@pytest.mark.parametrize("act", PASSING.values(), ids=PASSING)
def test_what_can_pass_is_asked_again(act):
    with running(act, grades(3, 0)) as server:
        found = asked(judge_of(server, timeout=2.0 if act is silence else 5.0))
    assert found.epad == 3
    assert len(server.requests) == 2


def test_a_server_of_another_protocol_is_asked_again_and_given_up():
    refused(lambda handler: handler.write(b"SSH-2.0-x\r\n"), match="gave up after 3 of 3 tries", retries=2)


def test_nobody_listens():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    judge = judge_at(f"http://127.0.0.1:{port}", retries=1, backoff=0.01)
    # Nor would anybody answer to the next response.
    with pytest.raises(EndpointError, match=r"no answer \(.*gave up after 2 of 2 tries"):
        asked(judge)
    assert judge.budget.called == 2


def test_retries_end():
    refused(reply(500, body=b'{"error": "broken"}'), match="HTTP 500.*broken.*after 5 of 5 tries", tries=5)
    refused(reply(429), match="HTTP 429", tries=1, retries=0)


def test_waits_grow_and_are_random():
    with running(*[reply(500)] * 4, grades()) as server:
        asked(judge_of(server, backoff=0.2))
    at = [request.at for request in server.requests]
    waits = [b - a for a, b in itertools.pairwise(at)]
    assert len({round(wait, 6) for wait in waits}) == 4
    assert sum(waits) < SOON


def test_retry_after_is_waited_for():
    with running(reply(429, {"retry-after": "1"}), grades()) as server:
        asked(judge_of(server, backoff=0.0))
    first, second = server.requests
    assert 1.0 <= second.at - first.at < SOON


def test_retry_after_may_be_a_date():
    date = email.utils.formatdate(time.time() + 2.5, usegmt=True)
    with running(reply(503, {"retry-after": date}), grades()) as server:
        asked(judge_of(server, backoff=0.0))
    first, second = server.requests
    assert 0.5 <= second.at - first.at < SOON


@pytest.mark.parametrize(
    "value", ["soon", "-5", "nan", "1e9", "", "Thu, 99 Nov 2026 00:00:00 GMT", "9" * 400]
)
def test_a_retry_after_that_says_nothing_is_ignored(value):
    with running(reply(429, {"retry-after": value}), grades()) as server:
        assert asked(judge_of(server)).epad == 2


@pytest.mark.parametrize("seconds", ["61", "3600", "999999999"])
def test_whoever_asks_for_more_than_a_minute_is_not_waited_for(seconds):
    refused(
        reply(429, {"retry-after": seconds}),
        match=f"asked to wait {float(seconds):.4g} s".replace("+", r"\+"),
        tries=1,
    )


def test_a_wait_longer_than_the_time_left_is_not_begun():
    refused(reply(429, {"retry-after": "30"}), match="asked to wait 30 s.*20 s allowed", tries=1, total=20.0)


# -------------------------------------------------------------------------------------------------- what can't


@pytest.mark.parametrize(
    ("status", "kind"),
    [(400, ChatError), (401, EndpointError), (403, EndpointError), (404, EndpointError), (422, ChatError)],
)
def test_a_status_that_cannot_pass_is_not_asked_again(status, kind):
    error = refused(reply(status, body=b'{"error": {"message": "no"}}'), match=f"HTTP {status}", tries=1)
    assert type(error) is kind


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(status):
    with running() as other:
        there = reply(status, {"location": f"{other.url}/chat/completions"})
        error = refused(there, match="redirect", tries=1, api_key=KEY)
    assert other.requests == []
    assert isinstance(error, EndpointError)


@pytest.mark.parametrize(
    "kind", ["text/html", "text/event-stream", "", "application/jsonp", "text/plain; x=application/json"]
)
def test_another_content_type_is_refused(kind):
    refused(reply(headers={"content-type": kind}, body=completion("{}")), match="content type", tries=1)


def test_a_content_type_with_a_charset_is_taken():
    good = completion('{"epad": 1, "sya": 0, "reason": "ok"}')
    with running(reply(headers={"content-type": "Application/JSON; charset=utf-8"}, body=good)) as server:
        assert asked(judge_of(server)).epad == 1


@pytest.mark.parametrize(
    "body",
    [b"", b"not JSON", b"{", b"[]", b"null", b"42", b'{"choices": "x"}', b"[" * 100_000, b"\xff\xfe\x00", b'{"a": NaN}',
     b'{"error": {"message": "overloaded"}}', b'{"choices": []}', b'{"choices": [{}]}', b'{"choices": [null]}',
     b'{"choices": [{"message": {"content": 7}}]}', b'{"choices": [{"message": {"content": null}}]}',
     b'{"choices": [], "choices": []}', b'{"n": ' + b"9" * 10_000 + b"}"],
    ids=range(18),
)  # fmt: skip
def test_a_body_that_is_no_completion_is_refused(body):
    refused(reply(body=body), match="allowed", tries=1)


@pytest.mark.parametrize("score", [4, -1, 99, 10**30, True, False, None, "2", 2.0, 2.5, [2], {}])
@pytest.mark.parametrize("name", ["epad", "sya"])
def test_a_score_that_is_no_integer_from_0_to_3_is_refused(name, score):
    error = refused(grades(**{name: score}), match=f"content, {name}: got ", tries=1)
    assert repr(score)[:20] in str(error).replace("\\", "")


@pytest.mark.parametrize(
    "content",
    [
        "",
        "I would give it a 2.",
        '```json\n{"epad": 1, "sya": 0, "reason": "x"}\n```',
        '{"epad": 1, "sya": 0, "reason": "x"} as asked',
        '{"epad": 1, "sya": 0}',
        '{"epad": 1, "reason": "x"}',
        '{"epad": 1, "sya": 0, "reason": "x", "confidence": 1}',
        '{"epad": 3, "epad": 0, "sya": 0, "reason": "x"}',
        '{"epad": 1, "sya": 0, "reason": null}',
        '{"epad": 1, "sya": 0, "reason": ["x"]}',
        '{"epad": NaN, "sya": 0, "reason": "x"}',
        '{"epad": 1e0, "sya": 0, "reason": "x"}',
        '{"EPAD": 1, "sya": 0, "reason": "x"}',
        '[{"epad": 1, "sya": 0, "reason": "x"}]',
        '"{\\"epad\\": 1, \\"sya\\": 0, \\"reason\\": \\"x\\"}"',
        "[" * 100_000,
        '{"epad": 1, "sya": 0, "reason": "' + "x" * 4001 + '"}',
    ],
    ids=range(17),
)
def test_a_content_that_is_not_what_was_asked_for_is_refused(content):
    refused(text(content), match="content", tries=1)


WHOLE = '{"epad": 1, "sya": 0, "reason": "x"}'
UNUSABLE = {
    "a refusal": (text(None, message={"refusal": "I can't grade this."}), "refused: .*can't grade"),
    "cut off": (text(WHOLE, finish_reason="length"), r"cut off \(length\)"),
    "filtered": (text(WHOLE, finish_reason="content_filter"), r"cut off \(content_filter\)"),
    "compressed": (
        reply(headers={"content-encoding": "gzip"}, body=gzip.compress(completion(WHOLE))),
        "content encoding",
    ),
    "two choices": (
        reply(body=json.dumps({"choices": json.loads(completion(WHOLE))["choices"] * 2}).encode()),
        "choices: got 2; allowed: 1",
    ),
}


@pytest.mark.parametrize(("act", "said"), UNUSABLE.values(), ids=UNUSABLE)
def test_an_answer_that_cannot_be_used_is_an_error(act, said):
    refused(act, match=said, tries=1)


# ------------------------------------------------------------------------------------------ time, size, budget


@pytest.mark.parametrize("act", [silence, drip_head, drip_body])
def test_a_request_ends_whatever_the_server_does(act):
    refused(act, match="no answer within 0.6 s.*1 of 1 tries", timeout=0.6, retries=0)


@pytest.mark.parametrize("act", [silence, drip_head, drip_body])
def test_the_whole_ends_whatever_the_server_does(act):
    begun = time.monotonic()
    refused(act, match="no answer within .*1.2 s allowed", timeout=0.5, total=1.2, retries=100)
    assert time.monotonic() - begun >= 0.9


def test_an_error_with_an_endless_body_is_still_its_status():
    def slow_500(handler):
        handler.write(b"HTTP/1.1 500 No\r\ncontent-length: 100000\r\n\r\n{")
        while handler.wait(0.05):
            handler.write(b" ")

    refused(slow_500, match="HTTP 500", retries=0)


def test_a_body_without_end_is_dropped():
    refused(endless_body, match=f"longer than {LONGEST_ANSWER:,} bytes", tries=1)


def test_headers_without_end_are_dropped():
    def many(handler):
        handler.write(b"HTTP/1.1 200 OK\r\n")
        while handler.wait(0.0):
            handler.write(b"x: " + b"a" * 1000 + b"\r\n")

    refused(many, match="no answer", retries=0)


def test_retries_count_and_the_budget_ends_them():
    with running(reply(500)) as server:
        judge = judge_of(server, budget=3)
        with pytest.raises(BudgetError, match="allowed: 3 calls"):
            asked(judge)
        assert (len(server.requests), judge.budget.called) == (3, 3)
        with pytest.raises(BudgetError):
            asked(judge)
        assert len(server.requests) == 3


def in_threads(count, work):
    threads = [threading.Thread(target=work, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60.0)
        assert not thread.is_alive()


@pytest.mark.parametrize(("act", "good"), [(grades(), 10), (reply(503), 0)], ids=["answers", "fails"])
def test_eight_threads_do_not_exceed_a_budget_of_ten(act, good):
    ends: list[str] = []
    with running(act) as server:
        judge = judge_of(server, budget=10, retries=3)

        def work(i):
            for j in range(4):
                try:
                    ends.append(str(asked(judge, f"{RESPONSE} {i} {j}").epad))
                except BudgetError:
                    ends.append("spent")
                except ChatError:
                    ends.append("other")

        in_threads(8, work)
        assert len(server.requests) == 10
    assert judge.budget.called == 10
    assert len(ends) == 32
    assert ends.count("2") == good
    assert ends.count("spent") == 32 - good - ends.count("other")
    assert ends.count("other") <= 2  # four tries each: ten calls are used up by two and a half responses


def test_judges_may_share_a_budget():
    budget = Budget(3)
    with running() as server:
        one, other = judge_of(server, budget=budget), judge_of(server, model="large", budget=budget)
        asked(one), asked(other), asked(one)
        with pytest.raises(BudgetError):
            asked(other)
    assert len(server.requests) == 3


def test_tokens_are_set_aside_and_settled():
    with running() as server:
        judge = judge_of(server, budget=Budget(100, tokens=10_000))
        asked(judge)
        assert judge.budget.used == 50
        asked(judge, "Other words.")
        assert judge.budget.used == 100


def test_a_call_that_could_exceed_the_tokens_is_not_sent():
    with running() as server:
        judge = judge_of(server, budget=Budget(100, tokens=1000))
        with pytest.raises(BudgetError, match=r"0 tokens used, .* needed; allowed: 1,000 tokens"):
            asked(judge)
        assert server.requests == []
        assert (judge.budget.called, judge.budget.used) == (0, 0)


def test_threads_do_not_exceed_the_tokens():
    with running(grades()) as server:
        probe = judge_of(server, budget=Budget(1, tokens=10**6))
        asked(probe)
        size = len(server.requests[0].body) + 1200
        judge = judge_of(server, budget=Budget(1000, tokens=4 * size))
        most: list[int] = []

        def work(i):
            for j in range(6):
                with contextlib.suppress(BudgetError):
                    asked(judge, RESPONSE[:-3] + f"{i} {j}")
                most.append(judge.budget.used)

        in_threads(8, work)
    assert max(most) <= 4 * size
    assert judge.budget.used == 50 * judge.budget.called


@pytest.mark.parametrize("usage", [None, -5, "many", True])
def test_usage_that_says_nothing_leaves_the_upper_bound(usage):
    body = json.loads(completion('{"epad": 1, "sya": 0, "reason": "x"}'))
    body["usage"] = {"total_tokens": usage}
    with running(reply(body=json.dumps(body).encode())) as server:
        judge = judge_of(server, budget=Budget(5, tokens=100_000))
        assert asked(judge).tokens is None
        assert judge.budget.used == len(server.requests[0].body) + 1200


def test_tokens_of_an_answer_that_is_refused_are_counted_and_those_of_a_refused_request_not():
    with running(text("no JSON"), reply(503), reply(401)) as server:
        judge = judge_of(server, budget=Budget(50, tokens=100_000), retries=0)
        for used in (50, 50, 50):
            with pytest.raises(ChatError):
                asked(judge)
            assert judge.budget.used == used


# ------------------------------------------------------------------------------------------------- the secret


def test_a_certificate_that_is_not_trusted_is_not_asked_again(tmp_path):
    if (openssl := shutil.which("openssl")) is None:
        pytest.skip("no openssl to make a certificate with")
    pem = tmp_path / "own.pem"
    made = [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=127.0.0.1", "-days", "2"]
    subprocess.run([*made, "-keyout", pem, "-out", tmp_path / "cert.pem"], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert.pem", pem)
    with running() as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        judge = judge_of(server, url=server.url.replace("http:", "https:"), api_key=KEY)
        with pytest.raises(EndpointError, match="allowed: a certificate that this machine trusts"):
            asked(judge)
        assert (judge.budget.called, server.requests) == (1, [])


def _leaky():
    said = json.dumps({"error": {"message": f"Incorrect API key provided: {KEY}."}}).encode()
    return [
        reply(401, body=said),
        reply(400, body=said),
        reply(500, body=said),
        reply(302, {"location": f"http://127.0.0.1:1/{KEY}"}),
        reply(headers={"content-type": f"text/{KEY}"}),
        reply(headers={"content-encoding": KEY}),
        reply(body=said),
        reply(body=f"{'x' * 60}{KEY}".encode()),  # cut off in the middle of the key where it is shown
        text(f"{'x' * 60}{KEY}"),
        reply(400, body=f"{'x' * 140}{KEY}".encode()),
        text(None, message={"refusal": KEY}),
        text(f'{{"epad": "{KEY}", "sya": 0, "reason": "x"}}'),
        text(f'{{"epad": 1, "sya": 0, "reason": "x", "{KEY}": 1}}'),
        lambda handler: handler.write(f"HTTP/1.1 {KEY}\r\n\r\n".encode()),
        reset,
    ]


@pytest.mark.parametrize("place", range(15))
def test_the_key_is_in_no_error_and_no_log(place, caplog):
    caplog.set_level(logging.DEBUG)
    with running(_leaky()[place]) as server:
        judge = judge_of(server, api_key=KEY, retries=1)
        with pytest.raises(ChatError) as caught:
            asked(judge)
        assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
        assert KEY.encode() not in server.requests[0].body
    shown = [str(caught.value), repr(caught.value), repr(judge), repr(vars(judge)), repr(judge.budget)]
    ours = [record.getMessage() for record in caplog.records if record.name.startswith("solvent")]
    for line in [*shown, *ours]:
        assert KEY not in line
        assert KEY[:12] not in line
    assert caught.value.__cause__ is None


def test_the_key_is_in_no_log_of_the_client_and_in_no_cache(caplog, tmp_path):
    caplog.set_level(logging.DEBUG)
    with running(reply(500), grades(reason=f"It says {KEY}.")) as server:
        found = asked(judge_of(server, api_key=KEY, cache=tmp_path))
    assert found.reason == "It says [API key]."
    assert len(caplog.records) > 3
    assert KEY not in caplog.text
    for path in tmp_path.rglob("*.json"):
        assert KEY not in path.read_text()
        assert RESPONSE not in path.read_text()


@pytest.mark.parametrize("key", ["sk-1\n", "sk 1 2", "schlüssel-sehr-geheim", "\x00abcdef"])
def test_a_key_that_cannot_stand_in_a_header_is_refused_unseen(key):
    with pytest.raises(ChatError, match="api_key") as caught:
        judge_at("http://127.0.0.1:1", api_key=key)
    assert key.strip() not in str(caught.value)


def test_a_short_word_as_a_key_does_not_spoil_the_answer():
    with running(grades(0, 0, "No evidence.")) as server:
        assert asked(judge_of(server, api_key="0")).reason == "No evidence."


# ---------------------------------------------------------------------------------------------- bad arguments


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"base_url": "ftp://x"}, "base_url"),
        ({"base_url": "localhost:8000"}, "base_url"),
        ({"base_url": ""}, "base_url"),
        ({"base_url": None}, "base_url"),
        ({"base_url": "http://"}, "base_url"),
        ({"base_url": "http://user:secret@host/v1"}, "base_url"),
        ({"base_url": "http://host/v1?key=secret"}, "base_url"),
        ({"base_url": "http://host/v1#secret"}, "base_url"),
        ({"base_url": "http://ho st"}, "base_url"),
        ({"model": ""}, "model"),
        ({"model": "a\nb"}, "model"),
        ({"model": 7}, "model"),
        ({"timeout": 0}, "timeout"),
        ({"timeout": float("nan")}, "timeout"),
        ({"timeout": True}, "timeout"),
        ({"timeout": 1e9}, "timeout"),
        ({"total": -1.0}, "total"),
        ({"backoff": -0.1}, "backoff"),
        ({"retries": -1}, "retries"),
        ({"retries": 1.5}, "retries"),
        ({"retries": True}, "retries"),
        ({"budget": -1}, "calls"),
        ({"budget": 1.0}, "calls"),
        ({"options": {"model": "other"}}, "options"),
        ({"options": {"stream": True}}, "options"),
        ({"options": {"x": float("inf")}}, "options"),
        ({"options": {"x": object}}, "options"),
        ({"options": [1]}, "options"),
        ({"options": {"max_tokens": None}, "budget": Budget(1, tokens=5)}, "max_tokens"),
        ({"options": {"max_tokens": "9"}, "budget": Budget(1, tokens=5)}, "max_tokens"),
    ],
    ids=range(30),
)
def test_an_argument_that_cannot_be_used_is_one_line(arguments, match):
    with pytest.raises(ChatError, match=match) as caught:
        Judge(ChatSettings(**{"base_url": "http://127.0.0.1:1/v1", "model": "small", **arguments}))
    assert "allowed" in str(caught.value)
    assert "secret" not in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize("bad", [None, 7, b"x"])
def test_what_is_no_text_is_refused(bad):
    judge = judge_at("http://127.0.0.1:1/v1")
    with pytest.raises(ChatError, match="response"):
        judge.judge(bad, CONTEXT, QUERY)
    with pytest.raises(ChatError, match="query"):
        judge.judge(RESPONSE, CONTEXT, bad)


@pytest.mark.parametrize("package", ["httpx", "pydantic"])
def test_without_its_packages_it_can_be_imported_and_says_what_is_missing(package):
    code = (
        f"import sys; sys.modules[{package!r}] = None\n"
        "from solvent.adequacy.judge import ChatSettings, Judge, Judgement, ChatError\n"
        "try: Judge(ChatSettings(base_url='http://127.0.0.1:1', model='m'))\n"
        "except ChatError as error: print(error)\n"
    )
    execute_python(code).succeeded(f"{package} is not installed", install("judge"))


def test_importing_the_judge_imports_no_client():
    code = (
        "import sys, solvent.adequacy.judge as j\n"
        "print(*[name for name in ('httpx', 'pydantic') if name in sys.modules])"
    )
    assert execute_python(code).succeeded().strip() == ""
